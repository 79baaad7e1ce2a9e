// SPDX-License-Identifier: BSD-3-Clause
// The host's part of a call that does not block and is checked (option verify). The host's collectives are
// made of what the runtime knows of the call: the program may free what it gave before they are over.
#pragma once

#include "adapter/below/family.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

// Can the host start such a call without waiting inside? The same on all ranks.
bool can_start(const runtime::Call& call);

// Starts all calls of the part; an error's handler has been called.
int start_host_part(runtime::HostPart* part);

// Is a call with this outcome the runtime's? Starts the host's part, where it is to make one: *error is of
// that.
bool is_taken(runtime::Outcome outcome, runtime::HostPart* host, int* error);

}  // namespace unisono::adapter
