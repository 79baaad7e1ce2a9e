// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls on uneven blocks: through the lines of shared memory, where the algorithm is the fused one;
// what is left then, and all other algorithms, by schedules.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/engines/schedules.h"

namespace unisono::runtime {

class UnevenBlocks {
 public:
  UnevenBlocks(const World& world, const Schedules& schedules) : world_(world), schedules_(schedules) {}

  // A call of types without gaps of which only the counts and places are new: the mean block's bytes, 0 where
  // ranks do not know it. It can be made again.
  static std::optional<std::int64_t> known(const Communicator& c, const Call& call);
  int run_again(Communicator& c, const Call& call, std::int64_t bytes) const;
  void remember(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes) const;
  // After work.blocks has read the call; the host's error code.
  int run(Communicator& c, CallClass& entry, const Call& call, bool is_commutative, std::int64_t bytes) const;

 private:
  int run_long(Communicator& c, int lines, const schedule::Compiled& what, schedule::Data* data) const;
  int move(Communicator& c, CallClass& entry, const Call& call, bool is_commutative, std::int64_t bytes,
           const schedule::Compiled& what, schedule::Data* moved) const;

  const World& world_;
  const Schedules& schedules_;
};

}  // namespace unisono::runtime
