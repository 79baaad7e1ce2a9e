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
}  // namespace large

}  // namespace unisono::host::mpi
