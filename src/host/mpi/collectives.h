// SPDX-License-Identifier: BSD-3-Clause
// The typed wrappers of the collectives, with MPI's own signatures. `Count` is int, or MPI_Count for the
// large-count (_c) variants.
#pragma once

#include "host/mpi/family.h"

namespace unisono::host::mpi {

int barrier(MPI_Comm comm);
template <class Count>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm);
template <class Count>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

}  // namespace unisono::host::mpi
