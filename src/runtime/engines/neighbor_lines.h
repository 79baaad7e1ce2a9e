// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of neighbours that share one node: short blocks in lines with data and flag, longer ones in
// streams. Where the node's memory has no room for streams the kernel copies long blocks, or they are
// messages. Each pair of ranks knows what it exchanges, and nobody else need. C4; A1, A2.
#pragma once

#include "runtime/engines/engine.h"

namespace unisono::runtime {

class NeighborLines final : public Engine {
 public:
  explicit NeighborLines(const World& world) : Engine(world) {}

  static bool has_room(const Communicator& c) { return c.node.slice != nullptr; }

  int start(Run& run) const override;
  bool poll(Run& run) const override;

  // A call of types without gaps like one before, in which only addresses, counts and places are new.
  static bool is_known(const Communicator& c, const Call& call);
  int run_again(Communicator& c, const Call& call) const;  // the host's error code
  void remember(Communicator& c, CallClass& entry, const Call& call) const;
};

}  // namespace unisono::runtime
