// SPDX-License-Identifier: BSD-3-Clause
// Groups of ranks that send to the same ones. Members exchange their blocks, and each sends all of them to a
// part of the destinations that they share. C1-C3, C8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "patterns/common_neighbors.h"

namespace unisono::patterns {

struct Group {
  std::vector<int> members;       // ascending
  std::vector<int> destinations;  // of all members, ascending
  bool operator==(const Group&) const = default;
};
// The destinations that member `index` sends to: an equal part of them, the first members one more where the
// number is not divisible. Equation 7.2.
std::vector<int> part_of(const Group& group, int index);

enum class Combining {
  once,        // Each block is combined in one group at most.
  cumulative,  // Pairs. What a rank sends in a group's name takes part in later steps as its own.
};

struct GroupOptions {
  int size = 2;  // k
  Scope scope = Scope::node;
  Combining combining = Combining::once;
  // A group has more destinations in common than this (theta). Negative: as the source, equations 7.4
  // and 7.6.
  int threshold = -1;
  // Beyond these the groups are not found, and a reason is given.
  std::size_t most_bytes = std::size_t{512} << 20;
  std::int64_t most_steps = std::int64_t{4} << 30;
  // How much is done, from 0 to 1.
  std::function<void(double)> progress;
};
// k (k - 1) for groups of any ranks, k for groups inside a node.
int threshold_of(const GroupOptions& options);

struct Grouping {
  std::vector<std::vector<Group>> steps;  // Groups of one step have no member in common.
  Destinations left;                      // What each rank sends by itself in the end.
  int request_rounds = 0;                 // Of algorithm 7.3, in the step that took most of them.
  std::size_t bytes = 0;                  // Of the friends' tables of all ranks, at most.
  std::string problem;                    // Not empty: no groups were looked for, or not all found.
};
// Algorithms 7.1 to 7.3, as all ranks would run them together. Groups are ordered by the number of common
// destinations, then by a hash of the members, then by the members. The first in this order that is among a
// rank's is its choice. A group is formed where it is the choice of all its members.
Grouping friend_groups(Destinations destinations, const Layout& layout, const GroupOptions& options);

// How many groups each rank could choose from, which are the rows of matrix T (algorithm 7.2), on average.
struct HyperedgeCount {
  double per_rank = 0;
  bool is_complete = true;  // false: `most_steps` were not enough, and there are more
};
HyperedgeCount count_hyperedges(const Destinations& destinations, const Layout& layout,
                                const GroupOptions& options);

}  // namespace unisono::patterns
