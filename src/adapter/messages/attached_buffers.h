// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bsend's buffer. What Unisono carries is copied into memory of its own, but no more than the program has
// attached: who sends more gets MPI_ERR_BUFFER. A communicator's own buffer goes before the process's.
// MPI 4.1, section 3.6.
#pragma once

#include "adapter/messages/data.h"
#include "adapter/messages/layer.h"

namespace unisono::adapter::messages {

// A send for which nobody waits. Its bytes count until it is done. Returns the error, after its handler.
int send_buffered(const OwnComm& own, const Data& data, int to, int tag);

}  // namespace unisono::adapter::messages
