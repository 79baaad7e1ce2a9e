// SPDX-License-Identifier: BSD-3-Clause
// The typed wrappers of the collectives, with MPI's own signatures. `Count` is int, or MPI_Count for the
// large-count (_c) variants. `Tail` makes the form: nothing (blocking), MPI_Request* (MPI_I...), MPI_Info and
// MPI_Request* (MPI_..._init).
#pragma once

#include <type_traits>

#include "adapter/below/family.h"

namespace unisono::adapter {

// Displacements are as wide as counts.
template <class Count>
using Displacement = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;

template <class... Tail>
int barrier(MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
           Tail... tail);
template <class Count, class... Tail>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              Tail... tail);
template <class Count, class... Tail>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                         Tail... tail);
template <class Count, class... Tail>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Tail... tail);

// Operations on uneven blocks.
template <class Count, class... Tail>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Displacement<Count>* places, MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Displacement<Count>* places, MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int scatterv(const void* in, const Count* counts, const Displacement<Count>* places, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int alltoallv(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Displacement<Count>* out_places,
              MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int alltoallw(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Displacement<Count>* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
              Tail... tail);
template <class Count, class... Tail>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, Tail... tail);

// With the neighbours on a topology. (neighbor_collectives.cc)
template <class Count, class... Tail>
int neighbor_allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
                       MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int neighbor_allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
                        const Displacement<Count>* places, MPI_Datatype out_type, MPI_Comm comm,
                        Tail... tail);
template <class Count, class... Tail>
int neighbor_alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
                      MPI_Datatype out_type, MPI_Comm comm, Tail... tail);
template <class Count, class... Tail>
int neighbor_alltoallv(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
                       MPI_Datatype in_type, void* out, const Count* out_counts,
                       const Displacement<Count>* out_places, MPI_Datatype out_type, MPI_Comm comm,
                       Tail... tail);
// Displacements are wide, whatever counts are.
template <class Count, class... Tail>
int neighbor_alltoallw(const void* in, const Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
                       Tail... tail);

}  // namespace unisono::adapter
