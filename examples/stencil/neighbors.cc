// SPDX-License-Identifier: BSD-3-Clause
#include "neighbors.h"

#include <algorithm>

namespace stencil {
namespace {

// The block at `offset` blocks from this one, in this one's cells.
Vector cells_away(const Vector& offset, int side) {
  Vector away{};
  for (int d = 0; d < most_dimensions; ++d) away[d] = offset[d] * side;
  return away;
}

Vector opposite(Vector offset) {
  for (int& step : offset) step = -step;
  return offset;
}

struct Blocks {
  int dimensions;
  Box block;     // of cells
  Box with_rim;  // the block and what its cells see

  explicit Blocks(const Options& options) : dimensions(options.dimensions) {
    block.high.fill(1);
    with_rim.high.fill(1);
    for (int d = 0; d < dimensions; ++d) {
      block.high[d] = options.cells;
      with_rim.low[d] = -options.radius;
      with_rim.high[d] = options.cells + options.radius;
    }
  }

  // What a block that lies so many cells away needs of this one.
  Edge out(const Vector& away) const { return {common(with_rim.moved(away), block), away}; }
  // What this block needs of one that lies so many cells away.
  Edge in(const Vector& away) const { return {common(with_rim, block.moved(away)), away}; }
};

// The rank of the block at `place`; MPI_PROC_NULL where there is none.
int rank_at(Vector place, const Vector& grid, const Options& options) {
  int rank = 0;
  for (int d = 0; d < options.dimensions; ++d) {
    if (options.is_periodic) place[d] = (place[d] % grid[d] + grid[d]) % grid[d];
    if (place[d] < 0 || place[d] >= grid[d]) return MPI_PROC_NULL;
    rank = rank * grid[d] + place[d];
  }
  return rank;
}

Vector sum(Vector one, const Vector& other) {
  for (int d = 0; d < most_dimensions; ++d) one[d] += other[d];
  return one;
}

// All offsets of blocks up to `reach` away in each dimension, but none.
std::vector<Vector> offsets_around(int reach, int dimensions) {
  Box around;
  around.high.fill(1);
  for (int d = 0; d < dimensions; ++d) {
    around.low[d] = -reach;
    around.high[d] = reach + 1;
  }
  std::vector<Vector> offsets;
  for_each_row(around, dimensions, [&](Vector place, int length) {
    for (int i = 0; i < length; ++i, ++place[dimensions - 1]) {
      if (place != Vector{}) offsets.push_back(place);
    }
  });
  return offsets;
}

}  // namespace

Vector place_in_grid(int rank, const Vector& grid, int dimensions) {
  Vector place{};
  for (int d = dimensions - 1; d >= 0; --d) {
    place[d] = rank % grid[d];
    rank /= grid[d];
  }
  return place;
}

Neighbors::Neighbors(const Options& options, const Vector& grid, Topology topology, MPI_Comm comm) {
  if (topology == Topology::cartesian) {
    make_cartesian(options, grid, comm);
  } else {
    make_graph(options, grid, comm);
  }
}

// Two neighbours in each dimension, first the one before, then the one behind: what goes to one and what
// comes from it have the same number.
void Neighbors::make_cartesian(const Options& options, const Vector& grid, MPI_Comm comm) {
  Vector periods{};
  periods.fill(options.is_periodic);
  MPI_Cart_create(comm, options.dimensions, grid.data(), periods.data(), 0, &comm_);
  const Blocks blocks(options);
  for (int d = 0; d < options.dimensions; ++d) {
    for (int step : {-1, 1}) {
      Vector offset{};
      offset[d] = step;
      const Vector away = cells_away(offset, options.cells);
      out_.push_back(blocks.out(away));
      in_.push_back(blocks.in(away));
      most_cells_ = std::max(most_cells_, out_.back().cells.cells());
    }
  }
}

// Of two edges between the same processes the first one out meets the first one in. So both lists go through
// the offsets in the same order: to the block at an offset, and from the block at the opposite of it.
void Neighbors::make_graph(const Options& options, const Vector& grid, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const Vector own = place_in_grid(rank, grid, options.dimensions);
  const Blocks blocks(options);
  std::vector<int> sources, destinations;
  sources.reserve(1);
  destinations.reserve(1);
  const int reach = (options.radius + options.cells - 1) / options.cells;
  for (const Vector& offset : offsets_around(reach, options.dimensions)) {
    const Vector away = cells_away(offset, options.cells), back = opposite(away);
    most_cells_ = std::max(most_cells_, blocks.out(away).cells.cells());
    const int to = rank_at(sum(own, offset), grid, options);
    const int from = rank_at(sum(own, opposite(offset)), grid, options);
    if (to != MPI_PROC_NULL) {
      destinations.push_back(to);
      out_.push_back(blocks.out(away));
    }
    if (from != MPI_PROC_NULL) {
      sources.push_back(from);
      in_.push_back(blocks.in(back));
    }
  }
  MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm_);
}

}  // namespace stencil
