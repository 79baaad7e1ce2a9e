// SPDX-License-Identifier: BSD-3-Clause
// How the program's communicators end, as far as somebody must know of it: which are freed at the moment, and
// which outlive the MPI_Finalize at which Unisono ends.
#pragma once

#include "adapter/below/family.h"
#include "adapter/below/hints.h"

namespace unisono::host::mpi {

// Once, after the host's MPI_Init.
void begin_endings();

// A communicator that the host is freeing for this thread. Delete callbacks of its attributes may use it, but
// the host takes its attributes apart meanwhile: none can be asked or set. Ours have been taken away.
struct Ending {
  MPI_Comm comm;
  KeptHint hint;
  bool is_session;
};
// Null: `comm` is none.
const Ending* find_ending(MPI_Comm comm);
// Takes our attributes away, before the host frees `comm`.
void begin_ending(MPI_Comm comm);
// The last one of `comm` is over. They come back where a delete callback has refused.
void end_ending(MPI_Comm comm, bool is_freed);

// Was it made from a session's group, or from such a communicator? What the program starts on it may go on
// behind MPI_Finalize, which ends the world model alone (MPI 4.1, section 11.2).
bool is_of_session(MPI_Comm comm);
void mark_of_session(MPI_Comm comm);
// Most programs make none.
bool has_session_communicators();

}  // namespace unisono::host::mpi
