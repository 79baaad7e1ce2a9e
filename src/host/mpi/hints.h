// SPDX-License-Identifier: BSD-3-Clause
// What programs say of communicators in info keys. MPIs may drop keys that they do not know (MPICH does), so
// the calls that give a communicator its hints come by here, and the hint is kept as an attribute: a
// duplicate inherits it, a communicator that is split off does not.
#pragma once

#include "host/mpi/family.h"

namespace unisono::host::mpi {

// Once, after the host's MPI_Init.
void begin_hints();

Hint reproducible_hint(MPI_Comm comm);
bool has_ordered_persistent(MPI_Comm comm);
// Was an info object ever given to it, or to what it was duplicated from? The calls that do so are
// collective.
bool has_hints(MPI_Comm comm);

// The wrappers of MPI_Comm_set_info and MPI_Comm_dup_with_info.
int comm_set_info(MPI_Comm comm, MPI_Info info);
int comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created);

}  // namespace unisono::host::mpi
