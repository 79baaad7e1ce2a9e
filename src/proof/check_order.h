// SPDX-License-Identifier: BSD-3-Clause
// Are the compiled dependencies enough? That is checked statically, for all orders at once. Any two steps of
// a rank that conflict must be ordered by the dependencies as they are written. Messages that MPI matches by
// order of posting must be posted in one order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/check_load.h"

namespace unisono::proof {

// Instance `to` may start only when `from` has finished (or started, is_start).
struct InstanceEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  bool is_start = false;
};

// What the compiled dependencies of a rank demand of the executor, instance by instance. They are read as
// weakly as they can be: a piece waits for the pieces that it overlaps, no others.
std::vector<InstanceEdge> instance_edges(const LoadedProgram& program);

// A topological order of a rank's instances; shorter than all instances if the edges form a cycle.
std::vector<std::int32_t> topological_order(const LoadedProgram& program,
                                            const std::vector<InstanceEdge>& edges);

// Which instances must come before which.
class Ancestors {
 public:
  Ancestors(int instances, const std::vector<std::int32_t>& order, const std::vector<InstanceEdge>& edges);
  // Has `first` finished before `second` starts, whatever the timing?
  bool is_finished_before(int first, int second) const { return test(finished_, first, second); }
  // Has `first` started before `second` starts?
  bool is_started_before(int first, int second) const { return test(started_, first, second); }

 private:
  using Bits = std::vector<std::uint64_t>;
  bool test(const Bits& bits, int first, int second) const {
    return (bits[second * words_ + first / 64] >> (first % 64) & 1) != 0;
  }
  std::size_t words_;
  Bits finished_, started_;
};

// Append what is wrong to `failures`; `edges` as instance_edges() makes them.
void check_order(const CheckedCall& call, const LoadedProgram& program,
                 const std::vector<InstanceEdge>& edges, std::vector<std::string>* failures);
// Messages between a pair that carry the same tag: posted in the same order on both sides? By rank.
void check_posting(const CheckedCall& call, const std::vector<LoadedProgram>& programs,
                   const std::vector<std::vector<InstanceEdge>>& edges, std::vector<std::string>* failures);

}  // namespace unisono::proof
