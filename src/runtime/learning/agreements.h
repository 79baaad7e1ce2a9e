// SPDX-License-Identifier: BSD-3-Clause
// Numbers that the ranks of a communicator agree on, inside of a blocking call. By Unisono's own means, as
// its collectives are: calls under way go on meanwhile, and ranks that share cores do not wait as some hosts
// do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engines/schedules.h"

namespace unisono::runtime {

class Agreements {
 public:
  explicit Agreements(const World& world, const Schedules& schedules)
      : world_(world), schedules_(schedules) {}

  // Of each number the least. The host's error code.
  int least(Communicator& c, std::uint64_t* numbers, std::size_t count) const;
  // And of each of `sums`, which may be fewer, the sum; as one message.
  int least_and_sums(Communicator& c, std::vector<std::uint64_t>* numbers,
                     std::vector<std::uint64_t>* sums) const;
  // The longest rank's of each: seconds. Errors go to the communicator's error handler.
  std::vector<double> longest(Communicator& c, const std::vector<double>& seconds) const;
  // No rank leaves before all have come.
  int meet(Communicator& c) const;

 private:
  int join(Communicator& c, void* elements, std::size_t count, const shm::Combine& combine) const;

  const World& world_;
  const Schedules& schedules_;
};

}  // namespace unisono::runtime
