// SPDX-License-Identifier: BSD-3-Clause
// Neighbours that share a node, by pairs of ranks: what one has for another is one thing, however many edges
// lead there.
#pragma once

#include <vector>

#include "patterns/neighborhood.h"

namespace unisono::patterns {

// All edges from one rank to another one.
struct NeighborLink {
  int peer = 0;
  int place = 0;            // the link's number among those that its sender has
  std::vector<int> blocks;  // this rank's blocks, edge by edge in the order of both ends
};

// An edge from a rank to itself: its block among those that are sent, and among those that are got.
struct OwnEdge {
  int out = 0, in = 0;
};

struct NeighborLinks {
  // From the next rank on, around the circle: not all begin with the same one.
  std::vector<NeighborLink> sent, got;
  std::vector<OwnEdge> own;
  int most_sent = 0;  // links that any rank sends, of all that are known
  std::vector<int> readers() const;
};

// Of a rank; all other ranks that it has edges with must be known (std::logic_error).
NeighborLinks links_of(const Neighborhood& neighborhood, int rank);

}  // namespace unisono::patterns
