// SPDX-License-Identifier: BSD-3-Clause
// A communicator's topology, as the MPI tells it. MPI 4.1, section 8.6: the order of neighbours.
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/host_interface/mpi_host.h"

namespace unisono::adapter {
namespace {

int core_rank(int rank) {
  return rank == MPI_PROC_NULL ? host::no_rank : rank;
}

int cartesian(MPI_Comm comm, host::TopologyNeighbors* found) {
  int dimensions = 0;
  int error = pmpi.Cartdim_get(comm, &dimensions);
  for (int dimension = 0; error == MPI_SUCCESS && dimension < dimensions; ++dimension) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    error = pmpi.Cart_shift(comm, dimension, 1, &below, &above);
    found->sources.push_back(core_rank(below));
    found->sources.push_back(core_rank(above));
  }
  found->destinations = found->sources;
  return error;
}

int graph(MPI_Comm comm, host::TopologyNeighbors* found) {
  int rank = 0, count = 0;
  int error = pmpi.Comm_rank(comm, &rank);
  if (error == MPI_SUCCESS) error = pmpi.Graph_neighbors_count(comm, rank, &count);
  if (error != MPI_SUCCESS) return error;
  found->sources.resize(static_cast<std::size_t>(count));
  if (count != 0) error = pmpi.Graph_neighbors(comm, rank, count, found->sources.data());
  for (int& source : found->sources) source = core_rank(source);
  found->destinations = found->sources;
  return error;
}

int distributed_graph(MPI_Comm comm, host::TopologyNeighbors* found) {
  int ins = 0, outs = 0, is_weighted = 0;
  int error = pmpi.Dist_graph_neighbors_count(comm, &ins, &outs, &is_weighted);
  if (error != MPI_SUCCESS) return error;
  // Weights that nobody asks for are written all the same by some MPIs.
  std::vector<int> weights_in(static_cast<std::size_t>(ins) + 1),
      weights_out(static_cast<std::size_t>(outs) + 1);
  found->sources.resize(static_cast<std::size_t>(ins) + 1);
  found->destinations.resize(static_cast<std::size_t>(outs) + 1);
  error = pmpi.Dist_graph_neighbors(comm, ins, found->sources.data(), weights_in.data(), outs,
                                    found->destinations.data(), weights_out.data());
  found->sources.resize(static_cast<std::size_t>(ins));
  found->destinations.resize(static_cast<std::size_t>(outs));
  for (auto* ranks : {&found->sources, &found->destinations}) {
    for (int& rank : *ranks) rank = core_rank(rank);
  }
  return error;
}

}  // namespace

int MpiHost::neighbors(host::Comm comm, host::TopologyNeighbors* found) {
  *found = {};
  const MPI_Comm handle = native(comm);
  int kind = MPI_UNDEFINED;
  const int error = pmpi.Topo_test(handle, &kind);
  if (error != MPI_SUCCESS) return error;
  switch (kind) {
    case MPI_CART:
      found->kind = host::TopologyNeighbors::Kind::cartesian;
      return cartesian(handle, found);
    case MPI_GRAPH:
      found->kind = host::TopologyNeighbors::Kind::graph;
      return graph(handle, found);
    case MPI_DIST_GRAPH:
      found->kind = host::TopologyNeighbors::Kind::graph;
      return distributed_graph(handle, found);
    default:
      return MPI_SUCCESS;
  }
}

}  // namespace unisono::adapter
