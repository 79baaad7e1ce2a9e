// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bsend's buffers. What Unisono carries is copied into memory of its own, but no more than the program
// has attached: who sends more gets MPI_ERR_BUFFER. MPI 4.1, section 3.6.
#pragma once

#include <cstdint>

#include "adapter/below/functions.h"

namespace unisono::host::mpi::messages {

// May a message of so many bytes be buffered on the communicator now?
bool has_room_in_buffer(MPI_Comm comm, std::uint64_t bytes);
// A send that has begun, for which nobody waits. Its bytes count until it is done.
int leave_to_buffer(MPI_Comm comm, MPI_Request* handle, std::uint64_t bytes);

}  // namespace unisono::host::mpi::messages
