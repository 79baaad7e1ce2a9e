// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a grid of processes: which are neighbours, and which cells go from one to the other.
#pragma once

// The C++ bindings that MPI 3 removed are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <vector>

#include "options.h"

namespace stencil {

// One message: cells of the own block that go out, or cells of the border that come in. `moved` is how far
// the other block lies away, in cells.
struct Edge {
  Box cells;
  Vector moved{};
};

// A communicator with a topology, its edges in the order of the topology. An edge to where there is no
// process is among them where MPI keeps a place for it.
class Neighbors {
 public:
  Neighbors(const Options& options, const Vector& grid, Topology topology, MPI_Comm comm);
  ~Neighbors() { MPI_Comm_free(&comm_); }
  Neighbors(const Neighbors&) = delete;
  Neighbors& operator=(const Neighbors&) = delete;

  MPI_Comm comm() const { return comm_; }
  const std::vector<Edge>& out() const { return out_; }
  const std::vector<Edge>& in() const { return in_; }
  std::int64_t most_cells() const { return most_cells_; }  // of an edge, the same on all ranks

 private:
  void make_cartesian(const Options& options, const Vector& grid, MPI_Comm comm);
  void make_graph(const Options& options, const Vector& grid, MPI_Comm comm);

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Edge> out_, in_;
  std::int64_t most_cells_ = 0;
};

// Blocks lie in the grid in the order of ranks, the last dimension fastest, as in a Cartesian communicator.
Vector place_in_grid(int rank, const Vector& grid, int dimensions);

}  // namespace stencil
