// SPDX-License-Identifier: BSD-3-Clause
// Calls of which the host does not know, or whose end it does not tell: what requests.cc looks after.
#pragma once

#include "host/mpi/failures.h"

namespace unisono::host::mpi {

// The host's own collectives that stand behind a request of ours.
bool has_host_calls();
// Completes the requests of those that are over. True where one is.
bool look_at_host_calls();

bool has_persistent_calls();
void end_persistent_calls();
// Of a persistent request of ours; null: it is none.
Failure* failure_of_persistent(MPI_Request request);

}  // namespace unisono::host::mpi
