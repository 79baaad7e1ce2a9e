// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/private_comm.h"

#include <vector>

#include "adapter/below/functions.h"

namespace unisono::adapter {
namespace {

int copy_cart(MPI_Comm of, MPI_Comm flat, MPI_Comm* made) {
  int dimensions = 0;
  int error = pmpi.Cartdim_get(of, &dimensions);
  if (error != MPI_SUCCESS) return error;
  const auto count = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(count + 1), periods(count + 1), place(count + 1);
  error = pmpi.Cart_get(of, dimensions, sizes.data(), periods.data(), place.data());
  if (error != MPI_SUCCESS) return error;
  return pmpi.Cart_create(flat, dimensions, sizes.data(), periods.data(), 0, made);
}

int copy_graph(MPI_Comm of, MPI_Comm flat, MPI_Comm* made) {
  int nodes = 0, edges = 0;
  int error = pmpi.Graphdims_get(of, &nodes, &edges);
  if (error != MPI_SUCCESS) return error;
  std::vector<int> ends(static_cast<std::size_t>(nodes) + 1), neighbors(static_cast<std::size_t>(edges) + 1);
  error = pmpi.Graph_get(of, nodes, edges, ends.data(), neighbors.data());
  if (error != MPI_SUCCESS) return error;
  return pmpi.Graph_create(flat, nodes, ends.data(), neighbors.data(), 0, made);
}

int copy_dist_graph(MPI_Comm of, MPI_Comm flat, MPI_Comm* made) {
  int in = 0, out = 0, is_weighted = 0;
  int error = pmpi.Dist_graph_neighbors_count(of, &in, &out, &is_weighted);
  if (error != MPI_SUCCESS) return error;
  std::vector<int> sources(static_cast<std::size_t>(in) + 1), targets(static_cast<std::size_t>(out) + 1);
  // Without weights these stay as they are. (MPI_UNWEIGHTED is data of some libraries.)
  std::vector<int> in_weights(sources.size(), 1), out_weights(targets.size(), 1);
  error = pmpi.Dist_graph_neighbors(of, in, sources.data(), in_weights.data(), out, targets.data(),
                                    out_weights.data());
  if (error != MPI_SUCCESS) return error;
  return pmpi.Dist_graph_create_adjacent(flat, in, sources.data(), in_weights.data(), out, targets.data(),
                                         out_weights.data(), MPI_INFO_NULL, 0, made);
}

int copy_topology(int kind, MPI_Comm of, MPI_Comm flat, MPI_Comm* made) {
  switch (kind) {
    case MPI_CART:
      return copy_cart(of, flat, made);
    case MPI_GRAPH:
      return copy_graph(of, flat, made);
    default:
      return copy_dist_graph(of, flat, made);
  }
}

int take_error_handler(MPI_Comm of, MPI_Comm made) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int error = pmpi.Comm_get_errhandler(of, &handler);
  if (error != MPI_SUCCESS) return error;
  error = pmpi.Comm_set_errhandler(made, handler);
  pmpi.Errhandler_free(&handler);
  return error;
}

}  // namespace

int take_topology(MPI_Comm of, MPI_Comm* made) {
  int kind = MPI_UNDEFINED;
  int error = pmpi.Topo_test(of, &kind);
  if (error != MPI_SUCCESS || kind == MPI_UNDEFINED) return error;
  MPI_Comm flat = *made;
  error = copy_topology(kind, of, flat, made);
  pmpi.Comm_free(&flat);
  return error;
}

int make_private(MPI_Comm of, bool has_topology, MPI_Comm* made) {
  int rank = 0;
  int error = pmpi.Comm_rank(of, &rank);
  // Not MPI_Comm_dup: it would copy the program's attributes.
  if (error == MPI_SUCCESS) error = pmpi.Comm_split(of, 0, rank, made);
  if (error == MPI_SUCCESS && has_topology) error = take_topology(of, made);
  return error == MPI_SUCCESS ? take_error_handler(of, *made) : error;
}

}  // namespace unisono::adapter
