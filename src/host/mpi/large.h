// SPDX-License-Identifier: BSD-3-Clause
// Counts above what an int holds, on hosts whose functions take ints.
#pragma once

#include <climits>
#include <cstddef>

#include "host/mpi/functions.h"

namespace unisono::host::mpi {

// `count` elements of `type` as an int and a type: themselves where the count fits, else one element of a
// type made for it, which lives as long as this object. Check `error` first.
class Elements {
 public:
  Elements(MPI_Count count, MPI_Datatype type);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int count = 0;
  MPI_Datatype type;
  int error = MPI_SUCCESS;

 private:
  bool is_made_ = false;
};

// The host's large-count collectives; where the host has none they are put together from its small-count
// ones.
namespace large {
int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm);
int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm);
int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
              MPI_Datatype out_type, MPI_Comm comm);
int alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
             MPI_Datatype out_type, MPI_Comm comm);
int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
int scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
               const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm);
int gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
            const MPI_Aint* places, MPI_Datatype out_type, int root, MPI_Comm comm);
int scatterv(const void* in, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm);
int alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places, MPI_Datatype in_type,
              void* out, const MPI_Count* out_counts, const MPI_Aint* out_places, MPI_Datatype out_type,
              MPI_Comm comm);
int alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
              const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
              const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm);
int reduce_scatter(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm);
// The same started. Where the host has no such function: with made types; a reduction of more elements than
// an int counts is done when the call returns.
int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request);
int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
           MPI_Request* request);
int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request);
int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request);
int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request);
int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request);
int alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
             MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request);
int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Request* request);
int scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         MPI_Request* request);
int exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           MPI_Request* request);
int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
               const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request);
int gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const MPI_Count* counts,
            const MPI_Aint* places, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request);
int scatterv(const void* in, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request);
int alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places, MPI_Datatype in_type,
              void* out, const MPI_Count* out_counts, const MPI_Aint* out_places, MPI_Datatype out_type,
              MPI_Comm comm, MPI_Request* request);
int alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
              const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
              const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm, MPI_Request* request);
int reduce_scatter(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request);
}  // namespace large

}  // namespace unisono::host::mpi
