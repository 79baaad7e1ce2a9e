// SPDX-License-Identifier: BSD-3-Clause
// What the program reads in statuses of messages that Unisono has carried.
#pragma once

#include <cstdint>

#include "adapter/below/functions.h"

namespace unisono::adapter::messages {

// Once: finds out whether statuses are laid out as the header says, so that they may be written as they are.
void begin_statuses();

// Of a message. MPI_ERROR stays as it is: only functions that complete several requests set it.
void set_status(MPI_Status* status, int source, int tag, std::uint64_t bytes, bool is_cancelled = false);
// Of no message: of a null request, of an inactive one, of a send.
void set_empty_status(MPI_Status* status);

// A null pointer is none of MPI's words for a status that nobody wants: the MPI says what is wrong.
inline bool is_missing(const MPI_Status* status) {
  return status == nullptr && MPI_STATUS_IGNORE != nullptr;
}

// Where statuses stand in an array that the program may not have given.
inline MPI_Status* at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

}  // namespace unisono::adapter::messages
