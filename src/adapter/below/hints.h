// SPDX-License-Identifier: BSD-3-Clause
// What programs say of communicators in info keys. MPIs may drop keys that they do not know (MPICH does), so
// the calls that give a communicator its hints come by here, and marks.h keeps them.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

// Behind a call that made `*created`, with what it returned: gives the communicator the hints in `info`, and
// no others. `is_always_marked`: as one that was given hints, also where there is none that we know. Ranks
// may give other keys than each other, so elsewhere only our own key does so.
int give_hints(int result, MPI_Info info, const MPI_Comm* created, bool is_always_marked = false);

// The wrappers of the functions that do nothing else with an info object.
int comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created, MPI_Request* request);
int comm_set_info(MPI_Comm comm, MPI_Info info);

}  // namespace unisono::adapter
