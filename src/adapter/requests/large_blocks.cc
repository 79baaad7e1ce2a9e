// SPDX-License-Identifier: BSD-3-Clause
// With ints, as far as they go. What does not fit becomes a count that the host refuses, so that its error
// handler speaks.
#include "adapter/requests/large_blocks.h"

#include <memory>
#include <vector>

#include "adapter/below/elements.h"
#include "adapter/requests/narrowed.h"
#include "adapter/requests/requests.h"

namespace unisono::adapter {
namespace {

// How many blocks the arrays of a collective on `comm` describe.
int peers(MPI_Comm comm) {
  int is_inter = 0;
  int size = 0;
  if (pmpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return 0;
  if (is_inter != 0) {
    pmpi.Comm_remote_size(comm, &size);
  } else {
    pmpi.Comm_size(comm, &size);
  }
  return size;
}

// The counts of a scattered reduction: in an intercommunicator those of the own group.
std::vector<int> narrowed_of_own_group(const MPI_Count* counts, MPI_Comm comm) {
  int size = 0;
  pmpi.Comm_size(comm, &size);
  std::vector<int> small(static_cast<std::size_t>(size));
  for (int i = 0; counts != nullptr && i < size; ++i) small[i] = narrowed(counts[i]);
  return small;
}

bool is_root(int root, MPI_Comm comm) {
  int rank = -1;
  pmpi.Comm_rank(comm, &rank);
  return root == MPI_ROOT || root == rank;
}

}  // namespace

namespace large {

int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
               const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm) {
  if (pmpi.allgatherv.large != nullptr) {
    return pmpi.allgatherv.large(in, in_count, in_type, out, counts, places, out_type, comm);
  }
  const Narrowed to(counts, places, peers(comm));
  return pmpi.allgatherv.small(in, narrowed(in_count), in_type, out, to.counts.data(),
                               to.displacements.data(), out_type, comm);
}

int gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
            const MPI_Aint* places, MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.gatherv.large != nullptr) {
    return pmpi.gatherv.large(in, in_count, in_type, out, counts, places, out_type, root, comm);
  }
  const Narrowed to(counts, places, is_root(root, comm) ? peers(comm) : 0);
  return pmpi.gatherv.small(in, narrowed(in_count), in_type, out, to.counts.data(), to.displacements.data(),
                            out_type, root, comm);
}

int scatterv(const void* in, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.scatterv.large != nullptr) {
    return pmpi.scatterv.large(in, counts, places, in_type, out, out_count, out_type, root, comm);
  }
  const Narrowed from(counts, places, is_root(root, comm) ? peers(comm) : 0);
  return pmpi.scatterv.small(in, from.counts.data(), from.displacements.data(), in_type, out,
                             narrowed(out_count), out_type, root, comm);
}

int alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places, MPI_Datatype in_type,
              void* out, const MPI_Count* out_counts, const MPI_Aint* out_places, MPI_Datatype out_type,
              MPI_Comm comm) {
  if (pmpi.alltoallv.large != nullptr) {
    return pmpi.alltoallv.large(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type,
                                comm);
  }
  const Narrowed from(in_counts, in_places, in != MPI_IN_PLACE ? peers(comm) : 0);
  const Narrowed to(out_counts, out_places, peers(comm));
  return pmpi.alltoallv.small(in, from.counts.data(), from.displacements.data(), in_type, out,
                              to.counts.data(), to.displacements.data(), out_type, comm);
}

int alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
              const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
              const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  if (pmpi.alltoallw.large != nullptr) {
    return pmpi.alltoallw.large(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types,
                                comm);
  }
  const Narrowed from(in_counts, in_places, in != MPI_IN_PLACE ? peers(comm) : 0);
  const Narrowed to(out_counts, out_places, peers(comm));
  return pmpi.alltoallw.small(in, from.counts.data(), from.displacements.data(), in_types, out,
                              to.counts.data(), to.displacements.data(), out_types, comm);
}

int reduce_scatter(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  if (pmpi.reduce_scatter.large != nullptr) return pmpi.reduce_scatter.large(in, out, counts, type, op, comm);
  const std::vector<int> small = narrowed_of_own_group(counts, comm);
  return pmpi.reduce_scatter.small(in, out, counts != nullptr ? small.data() : nullptr, type, op, comm);
}

// --- Started, not waited for: the arrays stay until the host has done ---

int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
               const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.allgatherv.start_large != nullptr)
    return pmpi.allgatherv.start_large(in, in_count, in_type, out, counts, places, out_type, comm, request);
  const auto to = std::make_shared<Narrowed>(counts, places, peers(comm));
  return start_keeping(
      to,
      [=](MPI_Request* started) {
        return pmpi.allgatherv.start_small(in, narrowed(in_count), in_type, out, to->counts.data(),
                                           to->displacements.data(), out_type, comm, started);
      },
      request);
}

int gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
            const MPI_Aint* places, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.gatherv.start_large != nullptr) {
    return pmpi.gatherv.start_large(in, in_count, in_type, out, counts, places, out_type, root, comm,
                                    request);
  }
  const auto to = std::make_shared<Narrowed>(counts, places, is_root(root, comm) ? peers(comm) : 0);
  return start_keeping(
      to,
      [=](MPI_Request* started) {
        return pmpi.gatherv.start_small(in, narrowed(in_count), in_type, out, to->counts.data(),
                                        to->displacements.data(), out_type, root, comm, started);
      },
      request);
}

int scatterv(const void* in, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.scatterv.start_large != nullptr) {
    return pmpi.scatterv.start_large(in, counts, places, in_type, out, out_count, out_type, root, comm,
                                     request);
  }
  const auto from = std::make_shared<Narrowed>(counts, places, is_root(root, comm) ? peers(comm) : 0);
  return start_keeping(
      from,
      [=](MPI_Request* started) {
        return pmpi.scatterv.start_small(in, from->counts.data(), from->displacements.data(), in_type, out,
                                         narrowed(out_count), out_type, root, comm, started);
      },
      request);
}

int alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places, MPI_Datatype in_type,
              void* out, const MPI_Count* out_counts, const MPI_Aint* out_places, MPI_Datatype out_type,
              MPI_Comm comm, MPI_Request* request) {
  if (pmpi.alltoallv.start_large != nullptr) {
    return pmpi.alltoallv.start_large(in, in_counts, in_places, in_type, out, out_counts, out_places,
                                      out_type, comm, request);
  }
  const auto small = std::make_shared<NarrowedPair>(NarrowedPair{
      {in_counts, in_places, in != MPI_IN_PLACE ? peers(comm) : 0}, {out_counts, out_places, peers(comm)}});
  return start_keeping(
      small,
      [=](MPI_Request* started) {
        return pmpi.alltoallv.start_small(in, small->from.counts.data(), small->from.displacements.data(),
                                          in_type, out, small->to.counts.data(),
                                          small->to.displacements.data(), out_type, comm, started);
      },
      request);
}

int alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
              const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
              const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
              MPI_Request* request) {
  if (pmpi.alltoallw.start_large != nullptr) {
    return pmpi.alltoallw.start_large(in, in_counts, in_places, in_types, out, out_counts, out_places,
                                      out_types, comm, request);
  }
  const auto small = std::make_shared<NarrowedPair>(NarrowedPair{
      {in_counts, in_places, in != MPI_IN_PLACE ? peers(comm) : 0}, {out_counts, out_places, peers(comm)}});
  return start_keeping(
      small,
      [=](MPI_Request* started) {
        return pmpi.alltoallw.start_small(in, small->from.counts.data(), small->from.displacements.data(),
                                          in_types, out, small->to.counts.data(),
                                          small->to.displacements.data(), out_types, comm, started);
      },
      request);
}

int reduce_scatter(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  if (pmpi.reduce_scatter.start_large != nullptr)
    return pmpi.reduce_scatter.start_large(in, out, counts, type, op, comm, request);
  const auto small = std::make_shared<std::vector<int>>(narrowed_of_own_group(counts, comm));
  return start_keeping(
      small,
      [=](MPI_Request* started) {
        return pmpi.reduce_scatter.start_small(in, out, counts != nullptr ? small->data() : nullptr, type, op,
                                               comm, started);
      },
      request);
}

}  // namespace large
}  // namespace unisono::adapter
