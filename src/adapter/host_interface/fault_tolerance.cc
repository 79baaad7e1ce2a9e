// SPDX-License-Identifier: BSD-3-Clause
// Whether the host lets a program go on when ranks have died, and what it says then.
#include <strings.h>

#include <cstdlib>
#include <cstring>

#include "adapter/host_interface/mpi_host.h"

namespace unisono::adapter {
namespace {

// As MPICH reads its variables, under all names that they have had, and Intel MPI its own.
bool is_switched_on(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return false;
  for (const char* yes : {"1", "yes", "true", "on", "enable"}) {
    if (strcasecmp(value, yes) == 0) return true;
  }
  return false;
}

}  // namespace

// Open MPI has a variable that says it, set in its MPI_Init from the launcher's option --with-ft or an MCA
// parameter.
bool MpiHost::is_fault_tolerant() const {
  if (pmpi.is_fault_tolerant != nullptr) return *pmpi.is_fault_tolerant;
  if (std::strcmp(family, "openmpi") == 0) return false;
  for (const char* name :
       {"MPIR_CVAR_ENABLE_FT", "MPICH_ENABLE_FT", "MPIR_PARAM_ENABLE_FT", "I_MPI_FAULT_CONTINUE"}) {
    if (is_switched_on(name)) return true;
  }
  return false;
}

// The standard has no class of its own for it, nor do headers agree on one.
int MpiHost::rank_has_died() const {
  return MPI_ERR_OTHER;
}

}  // namespace unisono::adapter
