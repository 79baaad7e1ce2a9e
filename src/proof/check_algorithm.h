// SPDX-License-Identifier: BSD-3-Clause
// Proves the algorithms of the registry (B6). Every algorithm is proved on every number of ranks, with
// counts, roots, layouts, in-place variants, parameters and numbers of pieces. Calls that follow each other
// on one shared segment are proved too. check_schedule.h says what is proved of each case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::proof {

struct CheckProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t cases = 0;
  std::int64_t failures = 0;
  std::string operation, algorithm;  // what was looked at last
};

struct CheckOptions {
  std::vector<int> ranks;  // empty: standard_check_ranks()
  std::uint32_t seed = 1;  // of the choice among cases where there are too many, and of orders
  int threads = 0;         // 0: one for each core
  // About how many pieces of steps are looked at for each algorithm and number of ranks. Up to 8 ranks all
  // counts are tried on each shape of a call; above, one or two. Shapes (layout, root, parameters, in place,
  // ...) come in an order that has all layouts and all values early.
  std::int64_t effort = 30'000;
  // Of neighbours: so many random graphs for each algorithm that combines messages and number of ranks up to
  // 33, an eighth of that for others and for more ranks.
  int random_graphs = 29;
  // Of the pairs of an algorithm and a number of ranks, every `shares`-th, from number `share` on. Each share
  // has all algorithms and all numbers of ranks, where there are enough of them.
  int share = 0, shares = 1;
  std::function<void(const CheckProgress&)> progress;  // called one at a time, from any thread
};
std::vector<int> standard_check_ranks();  // 1 to 33, 64, 100, 127, 128

struct CheckFailure {
  std::string operation, algorithm;  // of the first, where several calls follow each other
  std::string where;  // "8 ranks (2x4/cyclic), root 3, 17 elements in up to 2 pieces, segment=4096"
  std::string what;   // "rank 5, stage 0, round 2: ..."
};

struct CheckResult {
  int algorithms = 0;
  std::int64_t cases = 0;
  std::vector<CheckFailure> failures;
  double seconds = 0;
};

CheckResult check(const algorithms::Descriptor& descriptor, const CheckOptions& options);
// These, each alone and every two of them that use a node's shared memory one after the other.
CheckResult check(const std::vector<const algorithms::Descriptor*>& descriptors, const CheckOptions& options);

}  // namespace unisono::proof
