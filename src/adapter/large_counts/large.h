// SPDX-License-Identifier: BSD-3-Clause
// Counts above what an int holds, on hosts whose functions take ints.
#pragma once

#include "adapter/below/functions.h"

namespace unisono::adapter {

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
}  // namespace large

}  // namespace unisono::adapter
