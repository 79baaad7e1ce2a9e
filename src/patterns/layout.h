// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator share a node. Pure arithmetic, the same on all ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/topology.h"

namespace unisono::patterns {

struct Layout {
  std::vector<int> node_of;        // rank -> node; nodes are numbered in the order of their lowest rank
  std::vector<int> local_rank_of;  // rank -> its index among its node's ranks
  std::vector<std::vector<int>> ranks_of;  // node -> its ranks, ascending
  // The switches that nodes hang on, and on which each does; null: nothing is known of any.
  std::shared_ptr<const SwitchTree> switches = nullptr;
  std::vector<int> switch_of = {};

  int size() const { return static_cast<int>(node_of.size()); }
  int nodes() const { return static_cast<int>(ranks_of.size()); }
  int local_size(int rank) const { return static_cast<int>(ranks_of[node_of[rank]].size()); }
  // Does every node hold one run of consecutive ranks?
  bool is_consecutive() const;
  // Do all nodes hold equally many ranks?
  bool is_uniform() const;
  // Does every node hold equally many consecutive ranks, a power of two of them? Then a binary tree of
  // neighbouring ranks is one of nodes, and one inside each of them.
  bool is_aligned() const;
  // "8 ranks on 1 node", "16 ranks on 4 nodes (3+5+4+4)".
  std::string describe() const;
  // As parse() takes it: "8", "4x8", "3,5,8"; with "/cyclic" where ranks on some node are not consecutive,
  // whichever way they are spread.
  std::string text() const;

  // From any labels: ranks with equal labels share a node.
  static Layout from_labels(const std::vector<int>& labels);
  static Layout one_node(int size);
  // Of some ranks alone, in this order.
  Layout of_ranks(const std::vector<int>& ranks) const;
  // "8" (one node), "4x8" (4 nodes of 8), "3,5,8" (uneven), each with an optional suffix "/cyclic" (rank i on
  // node i mod nodes).
  static std::optional<Layout> parse(std::string_view text);
};

// Nodes in turn, each one's ranks ascending.
std::vector<int> node_order(const Layout& layout);

}  // namespace unisono::patterns
