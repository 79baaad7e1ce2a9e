// SPDX-License-Identifier: BSD-3-Clause
// Communicators that the program has revoked (MPIX_Comm_revoke of Open MPI 5). Receives and probes that wait
// there end with an error. M10.
#pragma once

#include "adapter/messages/layer.h"

namespace unisono::adapter::messages {

// For calls that look again and again: is it time to ask the MPI, and is it revoked? Seldom, and never on
// MPIs that know of no such thing.
bool is_time_to_ask_whether_revoked();
bool is_revoked_by_now(MPI_Comm comm);
// Calls the handler. Returns the error.
int raise_revoked(MPI_Comm comm);

// A receive that is not over ends with an error, where its communicator is revoked. A send does not: its
// receiver would have to say first that it has got nothing of it, and may wait elsewhere.
void end_if_revoked(runtime::MessageRequest* request);

}  // namespace unisono::adapter::messages
