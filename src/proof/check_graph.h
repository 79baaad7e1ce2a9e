// SPDX-License-Identifier: BSD-3-Clause
// The graph of a checked call of neighbours: what each node knows of it, which block meets which, and how
// long blocks are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "patterns/layout.h"
#include "patterns/neighborhood.h"
#include "schedule/block_table.h"
#include "schedule/program.h"

namespace unisono::proof {

class CheckedGraph {
 public:
  // Of all ranks. `problem`: of any rank.
  CheckedGraph(const schedule::Problem& problem, std::shared_ptr<const patterns::Neighborhood> all);

  // The neighbours of the node's own ranks: whoever asks for others' is caught.
  const std::shared_ptr<const patterns::Neighborhood>& known_on(int node) const {
    return known_[static_cast<std::size_t>(node)];
  }
  const patterns::Neighborhood& all() const { return *all_; }

  int sent_blocks(int rank) const { return has_one_block_ ? 1 : static_cast<int>(all_->of(rank).out.size()); }
  int received_blocks(int rank) const { return static_cast<int>(all_->of(rank).in.size()); }
  // Who sends the block that `rank` gets from neighbour `index`, and which one of his it is; rank
  // no_neighbor: nobody does.
  struct Source {
    int rank = patterns::no_neighbor;
    int block = 0;
  };
  Source source(int rank, int index) const {
    return sources_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }

  // Elements, at most `longest`, in one of several patterns. Both ends of an edge say the same; where an
  // operation has one length for all blocks of a direction, so have all ranks that edges lead to from there.
  std::int64_t sent(int rank, int block, std::int64_t longest, int pattern) const;
  std::int64_t received(int rank, int index, std::int64_t longest, int pattern) const;
  // What the ranks of this rank's node tell each other.
  std::vector<std::int64_t> told(const schedule::BlockTable& table, int rank, std::int64_t longest,
                                 int pattern) const;

 private:
  void find_sources();
  void find_components();
  std::int64_t length(int component, int rank, int block, std::int64_t longest, int pattern) const;

  Operation operation_;
  bool has_one_block_;
  std::shared_ptr<const patterns::Layout> layout_;
  std::shared_ptr<const patterns::Neighborhood> all_;
  std::vector<std::shared_ptr<const patterns::Neighborhood>> known_;  // by node
  std::vector<std::vector<Source>> sources_;                          // by rank, incoming block
  std::vector<int> sending_, receiving_;  // by rank: which part of the graph has its blocks' one length
};

}  // namespace unisono::proof
