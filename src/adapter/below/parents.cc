// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/parents.h"

#include "adapter/below/functions.h"

namespace unisono::adapter {

bool is_spawned() {
  MPI_Comm parents = MPI_COMM_NULL;
  return pmpi.Comm_get_parent(&parents) == MPI_SUCCESS && parents != MPI_COMM_NULL;
}

}  // namespace unisono::adapter
