// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/domain_tree.h"

#include <algorithm>
#include <map>

namespace unisono::patterns {
namespace {

// Leaders of one level's units, by domain of the level around them.
using Groups = std::map<int, std::vector<int>>;

}  // namespace

bool DomainTree::is_below(int rank, int other) const {
  while (rank != other && rank >= 0) rank = parent[static_cast<std::size_t>(rank)];
  return rank >= 0;
}

DomainTree domain_tree(const Layout& layout, int node, int root) {
  const std::vector<int>& ranks = layout.ranks_of[static_cast<std::size_t>(node)];
  DomainTree tree{.root = root, .parent = std::vector<int>(ranks.size(), -1), .children = {}};
  tree.children.resize(ranks.size());
  const int depth = layout.domains == nullptr ? 0 : layout.domains->depth();
  std::vector<int> leaders(ranks.size());  // of what the level around them is to join
  for (std::size_t i = 0; i < ranks.size(); ++i) leaders[i] = static_cast<int>(i);
  for (int level = depth - 1; level >= -1; --level) {
    Groups groups;
    for (const int leader : leaders) {
      const auto rank = static_cast<std::size_t>(ranks[static_cast<std::size_t>(leader)]);
      const int domain =
          level < 0 ? 0 : layout.domains->levels[static_cast<std::size_t>(level)].domain_of[rank];
      groups[domain].push_back(leader);
    }
    leaders.clear();
    for (const auto& [domain, members] : groups) {
      const bool has_root = std::ranges::find(members, root) != members.end();
      const int leader = has_root ? root : members.front();
      leaders.push_back(leader);
      for (const int member : members) {
        if (member == leader) continue;
        tree.parent[static_cast<std::size_t>(member)] = leader;
        tree.children[static_cast<std::size_t>(leader)].push_back(member);
      }
    }
    std::ranges::sort(leaders);
  }
  return tree;
}

}  // namespace unisono::patterns
