// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/neighbors.h"

#include "adapter/below/functions.h"

namespace unisono::adapter {

int count_neighbors(MPI_Comm comm, NeighborCounts* found) {
  *found = {};
  int kind = MPI_UNDEFINED, count = 0, rank = 0, is_weighted = 0;
  int error = pmpi.Topo_test(comm, &kind);
  if (error != MPI_SUCCESS) return error;
  switch (kind) {
    case MPI_CART:
      error = pmpi.Cartdim_get(comm, &count);
      *found = {.has_topology = true, .in = 2 * count, .out = 2 * count};
      return error;
    case MPI_GRAPH:
      error = pmpi.Comm_rank(comm, &rank);
      if (error == MPI_SUCCESS) error = pmpi.Graph_neighbors_count(comm, rank, &count);
      *found = {.has_topology = true, .in = count, .out = count};
      return error;
    case MPI_DIST_GRAPH:
      found->has_topology = true;
      return pmpi.Dist_graph_neighbors_count(comm, &found->in, &found->out, &is_weighted);
    default:
      return MPI_SUCCESS;
  }
}

}  // namespace unisono::adapter
