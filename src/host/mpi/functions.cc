// SPDX-License-Identifier: BSD-3-Clause
#include "host/mpi/functions.h"

#include <dlfcn.h>

#include <cstdio>

namespace unisono::host::mpi {

Functions pmpi;

namespace {

template <class Pointer>
bool find(void* library, const char* name, Pointer* function) {
  *function = reinterpret_cast<Pointer>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

bool load_functions(void* mpi_library, char* problem, std::size_t problem_bytes) {
  Functions found;
#define UNISONO_FIND(name)                                                                    \
  if (!find(mpi_library, "PMPI_" #name, &found.name)) {                                       \
    std::snprintf(problem, problem_bytes, "the MPI in this process lacks %s", "PMPI_" #name); \
    return false;                                                                             \
  }
  UNISONO_HOST_FUNCTIONS(UNISONO_FIND)
#undef UNISONO_FIND
  find(mpi_library, "PMPI_Bcast_c", &found.Bcast_c);
  find(mpi_library, "PMPI_Reduce_c", &found.Reduce_c);
  find(mpi_library, "PMPI_Allreduce_c", &found.Allreduce_c);
  find(mpi_library, "PMPI_Gather_c", &found.Gather_c);
  find(mpi_library, "PMPI_Scatter_c", &found.Scatter_c);
  find(mpi_library, "PMPI_Allgather_c", &found.Allgather_c);
  find(mpi_library, "PMPI_Alltoall_c", &found.Alltoall_c);
  find(mpi_library, "PMPI_Reduce_scatter_block_c", &found.Reduce_scatter_block_c);
  find(mpi_library, "PMPI_Scan_c", &found.Scan_c);
  find(mpi_library, "PMPI_Exscan_c", &found.Exscan_c);
  find(mpi_library, "PMPI_Allgatherv_c", &found.Allgatherv_c);
  find(mpi_library, "PMPI_Reduce_scatter_c", &found.Reduce_scatter_c);
  find(mpi_library, "PMPI_Alltoallv_c", &found.Alltoallv_c);
  find(mpi_library, "PMPI_Alltoallw_c", &found.Alltoallw_c);
  find(mpi_library, "PMPI_Gatherv_c", &found.Gatherv_c);
  find(mpi_library, "PMPI_Scatterv_c", &found.Scatterv_c);
  find(mpi_library, "PMPI_Type_get_envelope_c", &found.Type_get_envelope_c);
  find(mpi_library, "PMPI_Type_get_contents_c", &found.Type_get_contents_c);
  pmpi = found;
  return true;
}

}  // namespace unisono::host::mpi
