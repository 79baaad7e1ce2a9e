// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/host_part.h"

#include <climits>
#include <deque>
#include <memory>
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/below/neighbors.h"
#include "adapter/below/nesting.h"
#include "adapter/large_counts/large.h"
#include "adapter/requests/large_blocks.h"

namespace unisono::adapter {
namespace {

using runtime::BlockArguments;
using runtime::Call;

// What the host works with until it is over.
struct Part {
  std::vector<MPI_Request> requests;
  std::deque<std::vector<int>> numbers;         // narrowed counts and displacements
  std::deque<std::vector<MPI_Datatype>> types;  // of alltoallw
  int error = MPI_SUCCESS;
};

// Where an argument means nothing some hosts look at the handle nevertheless.
MPI_Datatype type_of(host::Datatype type) {
  return type == host::Datatype{} ? MPI_BYTE : adapter::native(type);
}

MPI_Count count_of(std::size_t count) {
  return static_cast<MPI_Count>(count);
}

// One side of uneven blocks, as one of the host's two kinds of functions takes it.
struct Blocks {
  void* buffer;
  const int* counts;
  const int* places;
  const MPI_Count* large_counts;
  const MPI_Aint* large_places;
  MPI_Datatype type;
  const MPI_Datatype* types;
};

Blocks blocks_of(const BlockArguments& given, int size, bool has_large, Part* part) {
  const auto count = static_cast<std::size_t>(size);
  Blocks blocks{.buffer = given.buffer,
                .counts = static_cast<const int*>(given.counts),
                .places = static_cast<const int*>(given.displacements),
                .large_counts = static_cast<const MPI_Count*>(given.counts),
                .large_places = static_cast<const MPI_Aint*>(given.displacements),
                .type = type_of(given.type),
                .types = nullptr};
  const auto narrowed = [&](const auto* numbers) -> const int* {
    if (numbers == nullptr) return nullptr;
    std::vector<int>& small = part->numbers.emplace_back();
    small.reserve(count + 1);  // some hosts look at arrays of nothing
    // What does not fit is negative: the host says so.
    for (std::size_t i = 0; i < count; ++i)
      small.push_back(numbers[i] > INT_MAX ? -1 : static_cast<int>(numbers[i]));
    return small.data();
  };
  if (given.are_large && !has_large) {
    blocks.counts = narrowed(blocks.large_counts);
    blocks.places = narrowed(blocks.large_places);
  }
  if (given.types != nullptr || count == 0) {
    std::vector<MPI_Datatype>& types = part->types.emplace_back();
    types.reserve(count + 1);
    for (std::size_t i = 0; i < count; ++i) types.push_back(type_of(given.types[i]));
    blocks.types = types.data();
  }
  return blocks;
}

int start_uneven(const Call& call, Part* part, MPI_Request* request) {
  const MPI_Comm comm = adapter::native(call.comm);
  int size = 0;
  const int error = pmpi.Comm_size(comm, &size);
  if (error != MPI_SUCCESS) return error;
  const bool has_large = pmpi.alltoallv.start_large != nullptr;
  const bool is_large = has_large && (call.send_blocks.are_large || call.recv_blocks.are_large);
  const Blocks out = blocks_of(call.recv_blocks, size, has_large, part);
  // In place the other side's arrays mean nothing; some hosts look at them.
  const bool is_out_there = call.is_in_place && call.operation != Operation::scatterv;
  Blocks in = is_out_there && call.operation != Operation::reduce_scatter
                  ? out
                  : blocks_of(call.send_blocks, size, has_large, part);
  if (is_out_there) in.buffer = MPI_IN_PLACE;
  const MPI_Count in_count = count_of(call.send_blocks.count), out_count = count_of(call.recv_blocks.count);
  const auto small = [](MPI_Count count) { return count > INT_MAX ? -1 : static_cast<int>(count); };
  const auto op = adapter::native(call.op);
  void* part_there = call.is_in_place ? MPI_IN_PLACE : out.buffer;
  switch (call.operation) {
    case Operation::allgatherv:
      return is_large
                 ? pmpi.allgatherv.start_large(in.buffer, in_count, in.type, out.buffer, out.large_counts,
                                               out.large_places, out.type, comm, request)
                 : pmpi.allgatherv.start_small(in.buffer, small(in_count), in.type, out.buffer, out.counts,
                                               out.places, out.type, comm, request);
    case Operation::gatherv:
      return is_large ? pmpi.gatherv.start_large(in.buffer, in_count, in.type, out.buffer, out.large_counts,
                                                 out.large_places, out.type, call.root, comm, request)
                      : pmpi.gatherv.start_small(in.buffer, small(in_count), in.type, out.buffer, out.counts,
                                                 out.places, out.type, call.root, comm, request);
    case Operation::scatterv:
      return is_large ? pmpi.scatterv.start_large(in.buffer, in.large_counts, in.large_places, in.type,
                                                  part_there, out_count, out.type, call.root, comm, request)
                      : pmpi.scatterv.start_small(in.buffer, in.counts, in.places, in.type, part_there,
                                                  small(out_count), out.type, call.root, comm, request);
    case Operation::alltoallv:
      return is_large ? pmpi.alltoallv.start_large(in.buffer, in.large_counts, in.large_places, in.type,
                                                   out.buffer, out.large_counts, out.large_places, out.type,
                                                   comm, request)
                      : pmpi.alltoallv.start_small(in.buffer, in.counts, in.places, in.type, out.buffer,
                                                   out.counts, out.places, out.type, comm, request);
    case Operation::alltoallw:
      return is_large ? pmpi.alltoallw.start_large(in.buffer, in.large_counts, in.large_places, in.types,
                                                   out.buffer, out.large_counts, out.large_places, out.types,
                                                   comm, request)
                      : pmpi.alltoallw.start_small(in.buffer, in.counts, in.places, in.types, out.buffer,
                                                   out.counts, out.places, out.types, comm, request);
    default:
      return is_large ? pmpi.reduce_scatter.start_large(in.buffer, out.buffer, in.large_counts, in.type, op,
                                                        comm, request)
                      : pmpi.reduce_scatter.start_small(in.buffer, out.buffer, in.counts, in.type, op, comm,
                                                        request);
  }
}

int start_neighbors(const Call& call, Part* part, MPI_Request* request) {
  const MPI_Comm comm = adapter::native(call.comm);
  NeighborCounts neighbors;
  const int error = count_neighbors(comm, &neighbors);
  if (error != MPI_SUCCESS) return error;
  const MPI_Count in_count = count_of(call.send_blocks.count), out_count = count_of(call.recv_blocks.count);
  const auto small = [](MPI_Count count) { return count > INT_MAX ? -1 : static_cast<int>(count); };
  const bool has_large = pmpi.neighbor_alltoallv.start_large != nullptr;
  const bool is_large = has_large && call.recv_blocks.are_large;
  const Blocks in = blocks_of(call.send_blocks, neighbors.out, has_large, part);
  const Blocks out = blocks_of(call.recv_blocks, neighbors.in, has_large, part);
  switch (call.operation) {
    case Operation::neighbor_allgather:
      return large::neighbor_allgather(in.buffer, in_count, in.type, out.buffer, out_count, out.type, comm,
                                       request);
    case Operation::neighbor_alltoall:
      return large::neighbor_alltoall(in.buffer, in_count, in.type, out.buffer, out_count, out.type, comm,
                                      request);
    case Operation::neighbor_allgatherv:
      return is_large ? pmpi.neighbor_allgatherv.start_large(in.buffer, in_count, in.type, out.buffer,
                                                             out.large_counts, out.large_places, out.type,
                                                             comm, request)
                      : pmpi.neighbor_allgatherv.start_small(in.buffer, small(in_count), in.type, out.buffer,
                                                             out.counts, out.places, out.type, comm, request);
    case Operation::neighbor_alltoallv:
      return is_large
                 ? pmpi.neighbor_alltoallv.start_large(in.buffer, in.large_counts, in.large_places, in.type,
                                                       out.buffer, out.large_counts, out.large_places,
                                                       out.type, comm, request)
                 : pmpi.neighbor_alltoallv.start_small(in.buffer, in.counts, in.places, in.type, out.buffer,
                                                       out.counts, out.places, out.type, comm, request);
    default:  // alltoallw: displacements are wide, whatever counts are
      return has_large ? pmpi.neighbor_alltoallw.start_large(in.buffer, in.large_counts, in.large_places,
                                                             in.types, out.buffer, out.large_counts,
                                                             out.large_places, out.types, comm, request)
                       : pmpi.neighbor_alltoallw.start_small(in.buffer, in.counts, in.large_places, in.types,
                                                             out.buffer, out.counts, out.large_places,
                                                             out.types, comm, request);
  }
}

int start_one(const Call& call, Part* part, MPI_Request* request) {
  const MPI_Comm comm = adapter::native(call.comm);
  const void* in = call.is_in_place && call.operation != Operation::scatter ? MPI_IN_PLACE : call.send_buffer;
  void* out = call.is_in_place && call.operation == Operation::scatter ? MPI_IN_PLACE : call.recv_buffer;
  const MPI_Count in_count = count_of(call.send_count), out_count = count_of(call.recv_count);
  const MPI_Datatype in_type = type_of(call.send_type), out_type = type_of(call.recv_type);
  const MPI_Op op = adapter::native(call.op);
  const int root = call.root;
  switch (call.operation) {
    case Operation::barrier:
      return pmpi.barrier.start_small(comm, request);
    case Operation::bcast:
      return large::bcast(call.recv_buffer, in_count, in_type, root, comm, request);
    case Operation::reduce:
      return large::reduce(in, out, in_count, in_type, op, root, comm, request);
    case Operation::allreduce:
      return large::allreduce(in, out, in_count, in_type, op, comm, request);
    case Operation::gather:
      return large::gather(in, in_count, in_type, out, out_count, out_type, root, comm, request);
    case Operation::scatter:
      return large::scatter(in, in_count, in_type, out, out_count, out_type, root, comm, request);
    case Operation::allgather:
      return large::allgather(in, in_count, in_type, out, out_count, out_type, comm, request);
    case Operation::alltoall:
      return large::alltoall(in, in_count, in_type, out, out_count, out_type, comm, request);
    case Operation::reduce_scatter_block:
      return large::reduce_scatter_block(in, out, in_count, in_type, op, comm, request);
    case Operation::scan:
      return large::scan(in, out, in_count, in_type, op, comm, request);
    case Operation::exscan:
      return large::exscan(in, out, in_count, in_type, op, comm, request);
    default:
      return is_neighborhood(call.operation) ? start_neighbors(call, part, request)
                                             : start_uneven(call, part, request);
  }
}

// One after the other: MPI_Testall of MPICH 5 fails beside some persistent requests.
bool is_over(void* context, int* error) {
  auto* part = static_cast<Part*>(context);
  bool is_all = true;
  for (MPI_Request& request : part->requests) {
    if (request == MPI_REQUEST_NULL) continue;
    int flag = 0;
    const int result = pmpi.Test(&request, &flag, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) {
      request = MPI_REQUEST_NULL;
      if (part->error == MPI_SUCCESS) part->error = result;
    } else if (flag == 0) {
      is_all = false;
    }
  }
  if (!is_all) return false;
  *error = part->error;
  delete part;
  return true;
}

}  // namespace

bool can_start(const Call& call) {
  // Put together of blocking pieces.
  const bool is_cut = is_reduction(call.operation) && call.send_count > INT_MAX;
  return !is_cut || pmpi.allreduce.start_large != nullptr;
}

int start_host_part(runtime::HostPart* host) {
  auto part = std::make_unique<Part>();
  for (const Call& call : host->calls) {
    MPI_Request& request = part->requests.emplace_back(MPI_REQUEST_NULL);
    part->error = start_one(call, part.get(), &request);
    if (part->error != MPI_SUCCESS) {
      request = MPI_REQUEST_NULL;
      break;
    }
  }
  const int error = part->error;
  runtime::host_has_started(host, is_over, part.release());
  return error;
}

bool is_taken(runtime::Outcome outcome, runtime::HostPart* host, int* error) {
  *error = MPI_SUCCESS;
  if (outcome == runtime::Outcome::compared) {
    const Outside outside;
    *error = start_host_part(host);
  }
  return outcome == runtime::Outcome::done || outcome == runtime::Outcome::compared;
}

}  // namespace unisono::adapter
