// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions, found by name in the library that the process holds. The adapter has no undefined
// PMPI_ symbol: such a symbol would find the preloaded library's own stubs.
#pragma once

#include <cstddef>

#include "host/mpi/family.h"

namespace unisono::host::mpi {

// clang-format off
#define UNISONO_HOST_FUNCTIONS(X) \
  X(Init) X(Init_thread) X(Finalize) X(Query_thread) X(Get_library_version) X(Abort) X(Barrier) \
  X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Scatter) X(Allgather) X(Alltoall) \
  X(Reduce_scatter_block) X(Scan) X(Exscan) X(Allgatherv) X(Reduce_scatter) X(Alltoallv) X(Alltoallw) X(Gatherv) X(Scatterv) X(Comm_remote_size) X(Comm_rank) \
  X(Comm_size) X(Comm_test_inter) X(Comm_split) X(Comm_free) X(Comm_group) X(Comm_get_name) \
  X(Comm_set_errhandler) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_set_attr) \
  X(Comm_get_attr) X(Group_translate_ranks) X(Group_free) X(Isend) X(Irecv) X(Sendrecv) X(Test) \
  X(Testsome) X(Iprobe) X(Type_size_x) X(Type_get_extent_x) X(Type_get_true_extent_x) \
  X(Type_get_envelope) X(Type_get_contents) X(Type_create_hindexed) X(Type_commit) X(Type_free) \
  X(Type_create_keyval) X(Type_set_attr) X(Type_get_attr) X(Pack) X(Unpack) X(Op_commutative) \
  X(Reduce_local)
// clang-format on

struct Functions {
#define UNISONO_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  UNISONO_HOST_FUNCTIONS(UNISONO_MEMBER)
#undef UNISONO_MEMBER

  // Large counts: null where the host has none (Open MPI 4 and 5). Written out, because their headers lack
  // them too.
  int (*Bcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm) = nullptr;
  int (*Reduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm) = nullptr;
  int (*Allreduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*Gather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                  MPI_Comm) = nullptr;
  int (*Scatter_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                   MPI_Comm) = nullptr;
  int (*Allgather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                     MPI_Comm) = nullptr;
  int (*Alltoall_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm) = nullptr;
  int (*Reduce_scatter_block_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*Scan_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*Exscan_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*Allgatherv_c)(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                      MPI_Datatype, MPI_Comm) = nullptr;
  int (*Gatherv_c)(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                   MPI_Datatype, int, MPI_Comm) = nullptr;
  int (*Scatterv_c)(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count,
                    MPI_Datatype, int, MPI_Comm) = nullptr;
  int (*Alltoallv_c)(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const MPI_Count*,
                     const MPI_Aint*, MPI_Datatype, MPI_Comm) = nullptr;
  int (*Alltoallw_c)(const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm) = nullptr;
  int (*Reduce_scatter_c)(const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*) = nullptr;
  int (*Type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                             MPI_Count*, MPI_Datatype*) = nullptr;
};

// Filled once, before the first wrapper can be called.
extern Functions pmpi;

// Fills `pmpi` from dlopen's handle; on failure says in `problem` which function is missing.
bool load_functions(void* mpi_library, char* problem, std::size_t problem_bytes);

}  // namespace unisono::host::mpi
