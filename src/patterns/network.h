// SPDX-License-Identifier: BSD-3-Clause
// The tree whose leaves are the ranks of a communicator: ranks hang on their nodes, nodes on switches. What
// is known of contention is known from it: which directed links a message takes. S6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/layout.h"

namespace unisono::patterns {

class Network {
 public:
  // Where the layout knows no switches all nodes hang on one.
  explicit Network(const Layout& layout);

  int ranks() const { return ranks_; }
  int links() const { return 2 * static_cast<int>(above_.size()); }
  // The directed links from one rank to another, in order.
  std::vector<int> way(int from, int to) const;
  std::string name_of_link(int link) const;  // "node 2 -> switch s0"

  // The most messages that an alltoall sends over one directed link: in fewer phases without contention it
  // cannot be done.
  std::int64_t least_phases() const;
  int busiest_link() const;  // one that so many go over

  // A place in the middle, with at most half of all ranks in any direction: for each direction its ranks,
  // those with the most first.
  std::vector<std::vector<int>> around_the_middle() const;
  // The ranks depth first: around a ring in this order each directed link is taken once. S1, logical ring.
  std::vector<int> ring_order() const;

 private:
  std::string name(int vertex) const;
  std::int64_t load(int vertex) const {  // of the links between a vertex and the one above it
    return static_cast<std::int64_t>(weight_[vertex]) * (ranks_ - weight_[vertex]);
  }
  void append_ranks(int vertex, std::vector<int>* order) const;

  int ranks_;
  int nodes_;
  int top_ = -1;
  std::vector<int> above_;               // vertex -> the one above it; -1: top
  std::vector<std::vector<int>> below_;  // those with ranks, by their lowest rank
  std::vector<int> weight_;              // ranks below
  std::vector<int> depth_;
  std::vector<std::string> switches_;
};

}  // namespace unisono::patterns
