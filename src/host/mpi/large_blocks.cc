// SPDX-License-Identifier: BSD-3-Clause
// Large-count operations on uneven blocks, on hosts that have none: with ints, as far as they go. What does
// not fit becomes a count that the host refuses, so that its error handler speaks.
#include <vector>

#include "host/mpi/large.h"

namespace unisono::host::mpi {
namespace {

int narrowed(MPI_Count count) {
  return count < 0 || count > INT_MAX ? -1 : static_cast<int>(count);
}

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

// Counts and displacements as ints; none where the arrays are not significant.
struct Narrowed {
  Narrowed(const MPI_Count* large, const MPI_Aint* places, bool is_significant, MPI_Comm comm) {
    const int count = is_significant && large != nullptr ? peers(comm) : 0;
    for (int i = 0; i < count; ++i) {
      counts.push_back(narrowed(large[i]));
      if (places == nullptr) continue;
      displacements.push_back(static_cast<int>(places[i]));
      if (displacements.back() != places[i]) counts.back() = -1;
    }
    // So that an array is there, whatever the host looks at.
    counts.push_back(0);
    displacements.push_back(0);
  }
  std::vector<int> counts;
  std::vector<int> displacements;
};

bool is_root(int root, MPI_Comm comm) {
  int rank = -1;
  pmpi.Comm_rank(comm, &rank);
  return root == MPI_ROOT || root == rank;
}

}  // namespace

namespace large {

int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
               const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm) {
  if (pmpi.Allgatherv_c != nullptr) {
    return pmpi.Allgatherv_c(in, in_count, in_type, out, counts, places, out_type, comm);
  }
  const Narrowed to(counts, places, true, comm);
  return pmpi.Allgatherv(in, narrowed(in_count), in_type, out, to.counts.data(), to.displacements.data(),
                         out_type, comm);
}

int gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
            const MPI_Aint* places, MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.Gatherv_c != nullptr) {
    return pmpi.Gatherv_c(in, in_count, in_type, out, counts, places, out_type, root, comm);
  }
  const Narrowed to(counts, places, is_root(root, comm), comm);
  return pmpi.Gatherv(in, narrowed(in_count), in_type, out, to.counts.data(), to.displacements.data(),
                      out_type, root, comm);
}

int scatterv(const void* in, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.Scatterv_c != nullptr) {
    return pmpi.Scatterv_c(in, counts, places, in_type, out, out_count, out_type, root, comm);
  }
  const Narrowed from(counts, places, is_root(root, comm), comm);
  return pmpi.Scatterv(in, from.counts.data(), from.displacements.data(), in_type, out, narrowed(out_count),
                       out_type, root, comm);
}

int alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places, MPI_Datatype in_type,
              void* out, const MPI_Count* out_counts, const MPI_Aint* out_places, MPI_Datatype out_type,
              MPI_Comm comm) {
  if (pmpi.Alltoallv_c != nullptr) {
    return pmpi.Alltoallv_c(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm);
  }
  const Narrowed from(in_counts, in_places, in != MPI_IN_PLACE, comm);
  const Narrowed to(out_counts, out_places, true, comm);
  return pmpi.Alltoallv(in, from.counts.data(), from.displacements.data(), in_type, out, to.counts.data(),
                        to.displacements.data(), out_type, comm);
}

int alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
              const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
              const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  if (pmpi.Alltoallw_c != nullptr) {
    return pmpi.Alltoallw_c(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm);
  }
  const Narrowed from(in_counts, in_places, in != MPI_IN_PLACE, comm);
  const Narrowed to(out_counts, out_places, true, comm);
  return pmpi.Alltoallw(in, from.counts.data(), from.displacements.data(), in_types, out, to.counts.data(),
                        to.displacements.data(), out_types, comm);
}

int reduce_scatter(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  if (pmpi.Reduce_scatter_c != nullptr) return pmpi.Reduce_scatter_c(in, out, counts, type, op, comm);
  // Of an intercommunicator the counts are those of the own group.
  int size = 0;
  pmpi.Comm_size(comm, &size);
  std::vector<int> small(static_cast<std::size_t>(size));
  for (int i = 0; counts != nullptr && i < size; ++i) small[i] = narrowed(counts[i]);
  return pmpi.Reduce_scatter(in, out, counts != nullptr ? small.data() : nullptr, type, op, comm);
}

}  // namespace large
}  // namespace unisono::host::mpi
