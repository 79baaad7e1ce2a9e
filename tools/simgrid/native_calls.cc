// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/native_calls.h"

#include <smpi/mpi.h>

#include <stdexcept>

namespace unisono::simgrid {

namespace {

// Counts and places of equally long blocks, one for each rank.
struct BlockLists {
  BlockLists(int size, int count)
      : counts(static_cast<std::size_t>(size), count), places(counts.size()), byte_places(counts.size()) {
    for (int i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      places[at] = i * count;
      byte_places[at] = i * count * static_cast<int>(sizeof(std::int64_t));
    }
  }
  std::vector<int> counts, places, byte_places;
};

void call_with_lists(const Call& call, const std::int64_t* in, std::int64_t* out) {
  const auto count = static_cast<int>(call.elements);
  const BlockLists blocks(call.size, count);
  const int *counts = blocks.counts.data(), *places = blocks.places.data();
  const MPI_Comm comm = MPI_COMM_WORLD;
  switch (call.operation) {
    case Operation::allgatherv:
      MPI_Allgatherv(in, count, MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
      return;
    case Operation::reduce_scatter:
      MPI_Reduce_scatter(in, out, counts, MPI_INT64_T, MPI_SUM, comm);
      return;
    case Operation::alltoallv:
      MPI_Alltoallv(in, counts, places, MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
      return;
    case Operation::alltoallw: {
      const std::vector<MPI_Datatype> types(blocks.counts.size(), MPI_INT64_T);
      const int* at = blocks.byte_places.data();
      MPI_Alltoallw(in, counts, at, types.data(), out, counts, at, types.data(), comm);
      return;
    }
    case Operation::gatherv:
      MPI_Gatherv(in, count, MPI_INT64_T, out, counts, places, MPI_INT64_T, Call::root, comm);
      return;
    case Operation::scatterv:
      MPI_Scatterv(in, counts, places, MPI_INT64_T, out, count, MPI_INT64_T, Call::root, comm);
      return;
    default:
      throw std::logic_error("neighbours' collectives are not run here");
  }
}

}  // namespace

void call_native(const Call& call, Buffers* buffers) {
  const std::int64_t* in = buffers->input();
  std::int64_t* out = buffers->output();
  const auto count = static_cast<int>(call.elements);
  const MPI_Comm comm = MPI_COMM_WORLD;
  switch (call.operation) {
    case Operation::barrier:
      MPI_Barrier(comm);
      return;
    case Operation::bcast:
      MPI_Bcast(out, count, MPI_INT64_T, Call::root, comm);
      return;
    case Operation::reduce:
      MPI_Reduce(in, out, count, MPI_INT64_T, MPI_SUM, Call::root, comm);
      return;
    case Operation::allreduce:
      MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, comm);
      return;
    case Operation::gather:
      MPI_Gather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, Call::root, comm);
      return;
    case Operation::scatter:
      MPI_Scatter(in, count, MPI_INT64_T, out, count, MPI_INT64_T, Call::root, comm);
      return;
    case Operation::allgather:
      MPI_Allgather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm);
      return;
    case Operation::alltoall:
      MPI_Alltoall(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm);
      return;
    case Operation::reduce_scatter_block:
      MPI_Reduce_scatter_block(in, out, count, MPI_INT64_T, MPI_SUM, comm);
      return;
    case Operation::scan:
      MPI_Scan(in, out, count, MPI_INT64_T, MPI_SUM, comm);
      return;
    case Operation::exscan:
      MPI_Exscan(in, out, count, MPI_INT64_T, MPI_SUM, comm);
      return;
    default:
      call_with_lists(call, in, out);
  }
}

}  // namespace unisono::simgrid
