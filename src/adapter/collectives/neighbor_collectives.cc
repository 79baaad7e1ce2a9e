// SPDX-License-Identifier: BSD-3-Clause
// The persistent collectives of neighbours on a topology. Unisono has no algorithm for them; but a program
// that finds the other persistent collectives believes that it may call these (mpi4py does). So where the
// host has none, each start of such a request makes the host's non-blocking call.
#include "adapter/collectives/collectives.h"
#include "adapter/collectives/wrapper.h"

namespace unisono::host::mpi {
namespace {

using Persistently = Form<MPI_Info, MPI_Request*>;

// How many blocks this process gets from neighbours, and how many it sends them.
struct Neighbors {
  int in = 0;
  int out = 0;
};

// An error that is returned has been told to the communicator's error handler. Where the host has a function
// to call now, errors are left to that.
int find_neighbors(MPI_Comm comm, const Persistently& form, Neighbors* neighbors) {
  if (!form.is_holding() || (form.has_host_init() && !is_communicator(comm))) return MPI_SUCCESS;
  int kind = MPI_UNDEFINED, error = pmpi.Topo_test(comm, &kind);
  if (error != MPI_SUCCESS) return error;
  int count = 0, rank = 0, is_weighted = 0;
  switch (kind) {
    case MPI_GRAPH:
      error = pmpi.Comm_rank(comm, &rank);
      if (error == MPI_SUCCESS) error = pmpi.Graph_neighbors_count(comm, rank, &count);
      *neighbors = {.in = count, .out = count};
      return error;
    case MPI_DIST_GRAPH:
      return pmpi.Dist_graph_neighbors_count(comm, &neighbors->in, &neighbors->out, &is_weighted);
    default:
      if (kind != MPI_CART && form.has_host_init()) return MPI_SUCCESS;
      // Without a topology the host complains here. (MPICH returns no error where a handler of the program's
      // has seen it.)
      error = pmpi.Cartdim_get(comm, &count);
      if (kind != MPI_CART && error == MPI_SUCCESS) error = MPI_ERR_TOPOLOGY;
      *neighbors = {.in = 2 * count, .out = 2 * count};
      return error;
  }
}

// What Form leaves to the host: `of`'s function for these arguments, for the communicator and for what comes
// behind it.
template <class Functions, class... Arguments>
int leave(Persistently* form, const Functions& of, MPI_Comm comm, Arguments... arguments) {
  const auto host_comm = form->host_comm(comm);
  return form->run_by_host(
      [&of, host_comm, arguments...](auto... more) {
        return host_function<int>(of, arguments..., host_comm.now(), more...)(arguments..., host_comm.now(),
                                                                              more...);
      },
      true);
}

// Those whose blocks are all of one size.
template <class Functions>
int init_even(const Functions& of, const void* in, int in_count, MPI_Datatype in_type, void* out,
              int out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Persistently form(std::type_identity<int>{}, of, info, request);
  Neighbors neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  return leave(&form, of, comm, in, in_count, in_type, out, out_count, out_type);
}

}  // namespace

int neighbor_allgather_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                            MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init_even(pmpi.neighbor_allgather, in, in_count, in_type, out, out_count, out_type, comm, info,
                   request);
}

int neighbor_allgatherv_init(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                             const int* places, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                             MPI_Request* request) {
  Persistently form(std::type_identity<int>{}, pmpi.neighbor_allgatherv, info, request);
  Neighbors neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  counts = form.hold_array(counts, neighbors.in);
  places = form.hold_array(places, neighbors.in);
  return leave(&form, pmpi.neighbor_allgatherv, comm, in, in_count, in_type, out, counts, places, out_type);
}

int neighbor_alltoall_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                           MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init_even(pmpi.neighbor_alltoall, in, in_count, in_type, out, out_count, out_type, comm, info,
                   request);
}

int neighbor_alltoallv_init(const void* in, const int* in_counts, const int* in_places, MPI_Datatype in_type,
                            void* out, const int* out_counts, const int* out_places, MPI_Datatype out_type,
                            MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Persistently form(std::type_identity<int>{}, pmpi.neighbor_alltoallv, info, request);
  Neighbors neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  in_counts = form.hold_array(in_counts, neighbors.out);
  in_places = form.hold_array(in_places, neighbors.out);
  out_counts = form.hold_array(out_counts, neighbors.in);
  out_places = form.hold_array(out_places, neighbors.in);
  return leave(&form, pmpi.neighbor_alltoallv, comm, in, in_counts, in_places, in_type, out, out_counts,
               out_places, out_type);
}

int neighbor_alltoallw_init(const void* in, const int* in_counts, const MPI_Aint* in_places,
                            const MPI_Datatype* in_types, void* out, const int* out_counts,
                            const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
                            MPI_Info info, MPI_Request* request) {
  Persistently form(std::type_identity<int>{}, pmpi.neighbor_alltoallw, info, request);
  Neighbors neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_counts = form.hold_array(in_counts, neighbors.out);
  in_places = form.hold_array(in_places, neighbors.out);
  in_types = form.hold(in_types, neighbors.out);
  out_counts = form.hold_array(out_counts, neighbors.in);
  out_places = form.hold_array(out_places, neighbors.in);
  out_types = form.hold(out_types, neighbors.in);
  return leave(&form, pmpi.neighbor_alltoallw, comm, in, in_counts, in_places, in_types, out, out_counts,
               out_places, out_types);
}

}  // namespace unisono::host::mpi
