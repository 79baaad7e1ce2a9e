// SPDX-License-Identifier: BSD-3-Clause
// The host's part of a call that does not block and is checked (option verify): its own collectives, made of
// what the runtime knows of the call, since the program may free what it gave before they are over.
#pragma once

#include "host/mpi/family.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {

// Can the host start such a call without waiting inside? The same on all ranks.
bool can_start(const runtime::Call& call);

// Starts all calls of the part; an error's handler has been called.
int start_host_part(runtime::HostPart* part);

}  // namespace unisono::host::mpi
