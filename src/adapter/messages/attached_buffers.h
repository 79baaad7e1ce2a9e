// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bsend's buffer. What Unisono carries is copied into memory of its own, but no more than the program has
// attached: who sends more gets MPI_ERR_BUFFER. MPI 4.1, section 3.6.
#pragma once

#include <cstdint>

#include "runtime/messages/message.h"

namespace unisono::adapter::messages {

// May a message of so many bytes be buffered now?
bool has_room_in_buffer(std::uint64_t bytes);
// A send that has begun, for which nobody waits. Its bytes count until it is done.
void leave_to_buffer(runtime::MessageRequest* request, std::uint64_t bytes);

}  // namespace unisono::adapter::messages
