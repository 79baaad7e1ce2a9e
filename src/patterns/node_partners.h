// SPDX-License-Identifier: BSD-3-Clause
// Who of a node's ranks sends to, and receives from, each other node.
#pragma once

#include "patterns/layout.h"

namespace unisono::patterns {

// Which of a node's ranks deals with `other` node. Neighbours of a torus lie equally far apart: the second
// term keeps them from falling to one rank.
inline int rank_for(const Layout& layout, int node, int other) {
  const auto& ranks = layout.ranks_of[static_cast<std::size_t>(node)];
  const auto count = static_cast<int>(ranks.size());
  return ranks[static_cast<std::size_t>((other + other / count) % count)];
}

}  // namespace unisono::patterns
