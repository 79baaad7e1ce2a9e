// SPDX-License-Identifier: BSD-3-Clause
// Calls that are valid and that an MPI under test gets wrong by itself. With COLLECTIVES_NATIVE in the
// environment they are left out, so that the program passes natively and everything else is known to be the
// MPI's own result. Unisono leaves many calls on uneven blocks to the MPI: these are left out everywhere, but
// with COLLECTIVES_TAKEN, which says that Unisono was made to take them. The answer is the same on all ranks.
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int host_is(const char* text) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  if (version[0] == '\0') MPI_Get_library_version(version, &length);
  return strstr(version, text) != NULL;
}

static int has_defect_in_uneven_blocks(Operation operation, const Trial* trial) {
  if (getenv("COLLECTIVES_TAKEN") != NULL) return 0;
  // Open MPI hangs in long blocks at absolute addresses.
  if (trial->is_absolute && host_is("Open MPI")) return 1;
  // MPICH cuts long blocks into pieces of as many elements as each rank counts, Open MPI chooses an algorithm
  // by what each rank counts.
  const int is_mixed_up = operation == allgatherv && trial->is_mixed;
  return is_mixed_up && (host_is("Open MPI") || (trial->elements > 4096 && host_is("MPICH")));
}

int has_host_defect(Operation operation, const Trial* trial) {
  if (operation >= allgatherv) return has_defect_in_uneven_blocks(operation, trial);
  if (getenv("COLLECTIVES_NATIVE") == NULL) return 0;
  // MPICH 4.0.2 takes MPI_IN_PLACE for an address when the root is not rank 0.
  if (operation == reduce && trial->is_in_place && trial->root != 0) return host_is("4.0.2");
  // Intel MPI mixes blocks up, or writes outside of the buffer, when ranks pass different types of one
  // signature.
  if ((operation == allgather || operation == gather) && trial->is_mixed) return host_is("Intel");
  // Intel MPI, now and then: the second 16 KiB of a broadcast are those of an earlier call.
  if (operation == bcast && trial->elements > 4096 && trial->elements < 8192) return host_is("Intel");
  // Open MPI 4.1 takes the types of a small alltoall for contiguous, above eight ranks.
  if (operation == alltoall && (trial->is_mixed || trial->is_absolute)) return host_is("Open MPI v4.1");
  return 0;
}

// MPICH and Intel MPI join elements with gaps in the wrong places where operands must stay in order.
int has_gap_defect(Operation operation) {
  if (operation != reduce_scatter_block && operation != reduce_scatter) return 0;
  return getenv("COLLECTIVES_TAKEN") == NULL && (host_is("MPICH") || host_is("Intel"));
}

// MPICH hangs in an alltoall of one rank while a receive from any source is posted on the communicator.
int has_wildcard_defect(void) {
  return world_size == 1 && getenv("COLLECTIVES_NATIVE") != NULL && host_is("MPICH");
}
