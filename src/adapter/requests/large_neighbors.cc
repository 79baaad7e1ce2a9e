// SPDX-License-Identifier: BSD-3-Clause
// As large_blocks.cc, of the neighbours on a topology. A block longer than an int counts is one element of a
// type made for it.
#include <memory>

#include "adapter/below/elements.h"
#include "adapter/below/neighbors.h"
#include "adapter/requests/large_blocks.h"
#include "adapter/requests/narrowed.h"
#include "adapter/requests/requests.h"

namespace unisono::adapter::large {
namespace {

// Without a topology nothing is read: the host complains.
NeighborCounts neighbors_on(MPI_Comm comm) {
  NeighborCounts neighbors;
  if (count_neighbors(comm, &neighbors) != MPI_SUCCESS) return {};
  return neighbors;
}

// `call` gets both sides' counts and types.
template <class HostCall>
int with_elements(MPI_Count in_count, MPI_Datatype in_type, MPI_Count out_count, MPI_Datatype out_type,
                  HostCall call) {
  const Elements in(in_count, in_type), out(out_count, out_type);
  if (in.error != MPI_SUCCESS) return in.error;
  if (out.error != MPI_SUCCESS) return out.error;
  return call(in, out);
}

}  // namespace

int neighbor_allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const auto& host = pmpi.neighbor_allgather;
  if (host.large != nullptr) return host.large(in, in_count, in_type, out, out_count, out_type, comm);
  return with_elements(in_count, in_type, out_count, out_type, [&](const Elements& from, const Elements& to) {
    return host.small(in, from.count, from.type, out, to.count, to.type, comm);
  });
}

int neighbor_alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const auto& host = pmpi.neighbor_alltoall;
  if (host.large != nullptr) return host.large(in, in_count, in_type, out, out_count, out_type, comm);
  return with_elements(in_count, in_type, out_count, out_type, [&](const Elements& from, const Elements& to) {
    return host.small(in, from.count, from.type, out, to.count, to.type, comm);
  });
}

int neighbor_allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                        const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype out_type,
                        MPI_Comm comm) {
  const auto& host = pmpi.neighbor_allgatherv;
  if (host.large != nullptr) return host.large(in, in_count, in_type, out, counts, places, out_type, comm);
  const Narrowed to(counts, places, neighbors_on(comm).in);
  return host.small(in, narrowed(in_count), in_type, out, to.counts.data(), to.displacements.data(), out_type,
                    comm);
}

int neighbor_alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, MPI_Datatype out_type, MPI_Comm comm) {
  const auto& host = pmpi.neighbor_alltoallv;
  if (host.large != nullptr)
    return host.large(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm);
  const NeighborCounts neighbors = neighbors_on(comm);
  const Narrowed from(in_counts, in_places, neighbors.out), to(out_counts, out_places, neighbors.in);
  return host.small(in, from.counts.data(), from.displacements.data(), in_type, out, to.counts.data(),
                    to.displacements.data(), out_type, comm);
}

int neighbor_alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  const auto& host = pmpi.neighbor_alltoallw;
  if (host.large != nullptr)
    return host.large(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm);
  const NeighborCounts neighbors = neighbors_on(comm);
  const Narrowed from(in_counts, nullptr, neighbors.out), to(out_counts, nullptr, neighbors.in);
  return host.small(in, from.counts.data(), in_places, in_types, out, to.counts.data(), out_places, out_types,
                    comm);
}

// --- Started, not waited for: arrays stay until the host has done ---

int neighbor_allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  const auto& host = pmpi.neighbor_allgather;
  if (host.start_large != nullptr)
    return host.start_large(in, in_count, in_type, out, out_count, out_type, comm, request);
  return with_elements(in_count, in_type, out_count, out_type, [&](const Elements& from, const Elements& to) {
    return host.start_small(in, from.count, from.type, out, to.count, to.type, comm, request);
  });
}

int neighbor_alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  const auto& host = pmpi.neighbor_alltoall;
  if (host.start_large != nullptr)
    return host.start_large(in, in_count, in_type, out, out_count, out_type, comm, request);
  return with_elements(in_count, in_type, out_count, out_type, [&](const Elements& from, const Elements& to) {
    return host.start_small(in, from.count, from.type, out, to.count, to.type, comm, request);
  });
}

int neighbor_allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                        const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm,
                        MPI_Request* request) {
  const auto& host = pmpi.neighbor_allgatherv;
  if (host.start_large != nullptr)
    return host.start_large(in, in_count, in_type, out, counts, places, out_type, comm, request);
  const auto to = std::make_shared<Narrowed>(counts, places, neighbors_on(comm).in);
  return start_keeping(
      to,
      [=](MPI_Request* started) {
        return pmpi.neighbor_allgatherv.start_small(in, narrowed(in_count), in_type, out, to->counts.data(),
                                                    to->displacements.data(), out_type, comm, started);
      },
      request);
}

int neighbor_alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, MPI_Datatype out_type, MPI_Comm comm,
                       MPI_Request* request) {
  const auto& host = pmpi.neighbor_alltoallv;
  if (host.start_large != nullptr)
    return host.start_large(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm,
                            request);
  const NeighborCounts neighbors = neighbors_on(comm);
  const auto small = std::make_shared<NarrowedPair>(
      NarrowedPair{{in_counts, in_places, neighbors.out}, {out_counts, out_places, neighbors.in}});
  return start_keeping(
      small,
      [=](MPI_Request* started) {
        return pmpi.neighbor_alltoallv.start_small(
            in, small->from.counts.data(), small->from.displacements.data(), in_type, out,
            small->to.counts.data(), small->to.displacements.data(), out_type, comm, started);
      },
      request);
}

int neighbor_alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
                       MPI_Request* request) {
  const auto& host = pmpi.neighbor_alltoallw;
  if (host.start_large != nullptr)
    return host.start_large(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm,
                            request);
  const NeighborCounts neighbors = neighbors_on(comm);
  const auto small = std::make_shared<NarrowedPair>(
      NarrowedPair{{in_counts, nullptr, neighbors.out}, {out_counts, nullptr, neighbors.in}});
  return start_keeping(
      small,
      [=](MPI_Request* started) {
        return pmpi.neighbor_alltoallw.start_small(in, small->from.counts.data(), in_places, in_types, out,
                                                   small->to.counts.data(), out_places, out_types, comm,
                                                   started);
      },
      request);
}

}  // namespace unisono::adapter::large
