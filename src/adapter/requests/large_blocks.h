// SPDX-License-Identifier: BSD-3-Clause
// Large-count collectives on uneven blocks. Where the host has none, its small-count ones take arrays that
// are made for the call, and stay until it is over.
#pragma once

#include "adapter/below/functions.h"

namespace unisono::adapter {

namespace large {
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
int neighbor_allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm);
int neighbor_allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                        const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype out_type,
                        MPI_Comm comm);
int neighbor_alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm);
int neighbor_alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, MPI_Datatype out_type, MPI_Comm comm);
int neighbor_alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm);
// The same started.
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
int neighbor_allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request);
int neighbor_allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                        const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype out_type, MPI_Comm comm,
                        MPI_Request* request);
int neighbor_alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request);
int neighbor_alltoallv(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, MPI_Datatype out_type, MPI_Comm comm,
                       MPI_Request* request);
int neighbor_alltoallw(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
                       MPI_Request* request);
}  // namespace large

}  // namespace unisono::adapter
