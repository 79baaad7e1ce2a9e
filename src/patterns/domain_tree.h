// SPDX-License-Identifier: BSD-3-Clause
// The tree that a node's ranks make along its domains: one rank of each domain stands between those inside it
// and all others. Pure arithmetic, the same on all ranks.
#pragma once

#include <vector>

#include "patterns/layout.h"

namespace unisono::patterns {

// Of local ranks. What all join goes up the tree, and what all get goes down it. So a vector crosses into
// each domain once, and out of it once: as few times as it can.
struct DomainTree {
  int root = 0;
  std::vector<int> parent;                 // local rank -> whom it is below; -1: the root
  std::vector<std::vector<int>> children;  // local rank -> those below it, of the innermost domain first

  int size() const { return static_cast<int>(parent.size()); }
  // Is `rank` at `other`, or below it?
  bool is_below(int rank, int other) const;
  bool operator==(const DomainTree&) const = default;
};

// Each domain is led by the root where it is inside, elsewhere by its lowest rank. Those whom a rank leads
// hang on it, each domain's in ascending order. Let the lowest rank be the root, and domains hold runs
// of ranks (Layout::has_domains_in_order). Then the tree order of a rank and all below it is that of ranks. A
// node that nothing divides is a root and all others below it.
DomainTree domain_tree(const Layout& layout, int node, int root);

}  // namespace unisono::patterns
