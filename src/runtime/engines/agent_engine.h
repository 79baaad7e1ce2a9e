// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block, between nodes, by the nodes' agents: a rank posts what it has, and finds the
// result when it looks. In between nothing of the call is the program's to do.
#pragma once

#include <memory>

#include "runtime/engines/between_nodes.h"
#include "runtime/engines/engine.h"

namespace unisono::runtime {

class AgentEngine final : public Engine {
 public:
  explicit AgentEngine(const World& world) : Engine(world), between_(world) {}

  // Do agents make such a call of so many bytes? The same answer on all ranks.
  bool serves(const Communicator& c, const Call& call, std::int64_t bytes) const;
  // For a class of such calls.
  void decide(const Communicator& c, Operation operation, std::int64_t bytes, CallClass* entry) const;

  // Posts the call where the window has room.
  int start(Run& run) const override;
  bool poll(Run& run) const override;

 private:
  agents::Descriptor describe(const Run& run) const;
  void post_waiting(Communicator& c) const;
  void post(Run& run) const;
  bool is_given_up(Run& run) const;

  const BetweenNodes between_;
};

}  // namespace unisono::runtime
