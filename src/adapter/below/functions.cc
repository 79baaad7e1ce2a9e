// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/functions.h"

#include <dlfcn.h>

#include <cstdio>

namespace unisono::adapter {

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
#define UNISONO_FIND(Name, name)                                                                       \
  if (!find(mpi_library, "PMPI_" #Name, &found.name.small) ||                                          \
      !find(mpi_library, "PMPI_I" #name, &found.name.start_small)) {                                   \
    std::snprintf(problem, problem_bytes, "the MPI in this process lacks %s or its non-blocking form", \
                  "PMPI_" #Name);                                                                      \
    return false;                                                                                      \
  }                                                                                                    \
  find(mpi_library, "PMPI_" #Name "_init", &found.name.init_small);
  UNISONO_COLLECTIVES(UNISONO_FIND)
#undef UNISONO_FIND
#define UNISONO_FIND(Name, name)                                   \
  find(mpi_library, "PMPI_" #Name "_c", &found.name.large);        \
  find(mpi_library, "PMPI_I" #name "_c", &found.name.start_large); \
  find(mpi_library, "PMPI_" #Name "_init_c", &found.name.init_large);
  UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_FIND)
#undef UNISONO_FIND
#define UNISONO_FIND(Name, name, Large)                \
  find(mpi_library, "PMPI_" #Name, &found.name.small); \
  find(mpi_library, "PMPI_" #Name "_c", &found.name.large);
  UNISONO_MESSAGE_FUNCTIONS(UNISONO_FIND)
#undef UNISONO_FIND
#define UNISONO_FIND(name) find(mpi_library, "PMPI_" #name, &found.name);
  UNISONO_FIND(Buffer_attach_c)
  UNISONO_FIND(Buffer_detach_c)
  UNISONO_FIND(Buffer_flush)
  UNISONO_FIND(Buffer_iflush)
  UNISONO_FIND(Request_toint)
  UNISONO_FIND(Request_fromint)
  UNISONO_FIND(Message_toint)
  UNISONO_FIND(Message_fromint)
#if defined(UNISONO_FAMILY_OPENMPI)
  UNISONO_FIND(Request_c2f)
  UNISONO_FIND(Request_f2c)
  UNISONO_FIND(Message_c2f)
  UNISONO_FIND(Message_f2c)
#endif
#undef UNISONO_FIND
  find(mpi_library, "PMPI_Type_get_envelope_c", &found.Type_get_envelope_c);
  find(mpi_library, "PMPI_Type_get_contents_c", &found.Type_get_contents_c);
  find(mpi_library, "PMPIX_Comm_is_revoked", &found.Comm_is_revoked);
  find(mpi_library, "PMPI_Comm_idup_with_info", &found.Comm_idup_with_info);
  find(mpi_library, "PMPI_Comm_create_from_group", &found.Comm_create_from_group);
  find(mpi_library, "PMPI_Intercomm_create_from_groups", &found.Intercomm_create_from_groups);
  find(mpi_library, "PMPI_Request_get_status_any", &found.Request_get_status_any);
  find(mpi_library, "PMPI_Request_get_status_all", &found.Request_get_status_all);
  find(mpi_library, "PMPI_Request_get_status_some", &found.Request_get_status_some);
  found.is_fault_tolerant = static_cast<const bool*>(dlsym(mpi_library, "ompi_ftmpi_enabled"));
  found.library = mpi_library;
  pmpi = found;
  return true;
}

}  // namespace unisono::adapter
