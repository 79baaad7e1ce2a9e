// SPDX-License-Identifier: BSD-3-Clause
// Which graphs the checker looks at in operations of neighbours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "patterns/neighborhood.h"

namespace unisono::proof {

struct NamedGraph {
  std::string name;
  std::shared_ptr<const patterns::Neighborhood> graph;  // of all ranks
};

// Those that break things: no edges, stars, rings, grids with borders and without. Two parts that know
// nothing of each other, edges that come twice, edges from ranks to themselves alone.
std::vector<NamedGraph> named_graphs(int size);
// Number `number` of all that have each edge once or not at all, 2^(size*size) of them.
NamedGraph digraph(int size, std::uint32_t number);
// Some edges, some of them several times, in lists of random order; in some of them neighbours that are none.
NamedGraph random_multigraph(int size, std::uint32_t seed);

}  // namespace unisono::proof
