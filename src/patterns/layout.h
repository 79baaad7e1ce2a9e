// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator share a node. Pure arithmetic, the same on all ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/domains.h"
#include "patterns/topology.h"

namespace unisono::patterns {

struct Layout {
  std::vector<int> node_of;        // rank -> node; nodes are numbered in the order of their lowest rank
  std::vector<int> local_rank_of;  // rank -> its index among its node's ranks
  std::vector<std::vector<int>> ranks_of;  // node -> its ranks, ascending
  // The switches that nodes hang on, and on which each does; null: nothing is known of any.
  std::shared_ptr<const SwitchTree> switches = nullptr;
  std::vector<int> switch_of = {};
  // What nodes consist of; null: nothing is known, or it makes no difference to these ranks.
  std::shared_ptr<const Domains> domains = nullptr;

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
  // Has every domain runs of its node's ranks alone? True where nothing is known of domains.
  bool has_domains_in_order() const;
  // How many there are on each level in one of the level outside it, the nodes first and ranks last: 4, 2, 8.
  // Empty where these are not all alike.
  std::vector<int> factors() const;
  // "8 ranks on 1 node", "16 ranks on 4 nodes (3+5+4+4)", "64 ranks on 4 nodes (16 ranks each; 2 domains of
  // 8)".
  std::string describe() const;
  // As parse() takes it: "8", "4x8", "3,5,8", "4x2x8". It says nothing of switches, and not of what kind
  // domains are. "/cyclic" is behind it where ranks on some node are not consecutive, whichever way they are
  // spread. So is "/interleaved" where those of some domain are not among its node's.
  std::string text() const;

  // From any labels: ranks with equal labels share a node.
  static Layout from_labels(const std::vector<int>& labels);
  static Layout one_node(int size);
  // Says what nodes consist of, from labels by rank, outermost level first.
  void divide(const std::vector<DomainLabels>& levels) { domains = domains_from_labels(node_of, levels); }
  // Of some ranks alone, in this order.
  Layout of_ranks(const std::vector<int>& ranks) const;
  // Of one node's ranks by themselves: the outermost domains that divide it stand for nodes, and those inside
  // them for their domains. One node where nothing divides it.
  Layout inside(int node) const;
  // "8" is one node, "4x8" 4 nodes of 8, "3,5,8" uneven. "4x2x8" is 4 nodes of 2 domains of 8. "3+5,8" has
  // domains of 3 and 5 on the first of two nodes, "4x(3+5)" on each; "(2+2)+(2+2),8" has two levels of them.
  // Behind it may stand "/cyclic" (rank i is on node i mod nodes) and "/interleaved" (a node's i-th rank is
  // in domain i mod domains).
  static std::optional<Layout> parse(std::string_view text);
};

// Nodes in turn, each one's ranks ascending.
std::vector<int> node_order(const Layout& layout);

}  // namespace unisono::patterns
