// SPDX-License-Identifier: BSD-3-Clause
// Graphs of neighbours as text, of all ranks of a communicator: the same everywhere, as whoever writes them
// expects. C4, section 7.4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/neighborhood.h"

namespace unisono::patterns {

// Extents of a grid of `ranks` in `dimensions` dimensions, as near to each other as they can be, the larger
// ones first: what MPI_Dims_create gives.
std::vector<int> even_extents(int ranks, int dimensions);

// All ranks whose coordinates on a torus of these extents differ by at most `radius` in each dimension. Each
// is a neighbour once, however often the torus leads to it, and no rank is its own.
Neighborhood moore_neighborhood(const std::vector<int>& extents, int radius);
// Each rank sends to each other one with this probability, from 0 to 1 (Erdos and Renyi). One seed gives one
// graph on all machines.
Neighborhood random_neighborhood(int ranks, double density, std::uint64_t seed);
// As MPI_Cart_create: two neighbours for each dimension, none beyond the border where the grid is not
// periodic.
Neighborhood cartesian_neighborhood(const std::vector<int>& extents, bool is_periodic);
// Each rank and all others.
Neighborhood complete_neighborhood(int ranks);

// "moore:2,4" (dimensions, radius; on the most even torus), "random:0.4", "random:0.4,7" (density, seed),
// "cart:4x4x4", "cart:4x4x4,periodic", "ring" (both ranks beside), "complete".
std::optional<Neighborhood> parse_graph(std::string_view text, int ranks);
// Why parse_graph() gives nothing, and what to write: a clause.
std::string why_no_graph(std::string_view text, int ranks);

}  // namespace unisono::patterns
