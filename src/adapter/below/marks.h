// SPDX-License-Identifier: BSD-3-Clause
// What the adapter knows of a communicator and the host does not tell: the value of one attribute, as a
// number in a pointer. A duplicate inherits it, a communicator that is split off does not.
#pragma once

#include <cstdint>

#include "adapter/below/family.h"

namespace unisono::adapter {

struct Marks {
  // What info objects have said of it. MPIs drop keys that they do not know.
  host::Hint reproducible = host::Hint::none;
  host::Hint ordered_persistent = host::Hint::none;
  // Was an info object ever given to it, or to what it was duplicated from?
  bool has_info = false;
  // Was it made from a session's group, or from such a communicator? What the program starts on it may go on
  // behind MPI_Finalize, which ends the world model alone (MPI 4.1, section 11.2).
  bool is_of_session = false;

  static Marks of(std::uintptr_t bits);
  std::uintptr_t bits() const;
};

// Once, after the host's MPI_Init.
void begin_marks();

// Also while the host frees the communicator for this thread, when attributes cannot be asked.
Marks marks_of(MPI_Comm comm);
void set_marks(MPI_Comm comm, const Marks& marks);
// Before the host frees it. They come back where a delete callback has refused.
void detach_marks(MPI_Comm comm);
void restore_marks(MPI_Comm comm, const Marks& kept);

bool is_of_session(MPI_Comm comm);
void mark_of_session(MPI_Comm comm);
// Most programs make none.
bool has_session_communicators();

}  // namespace unisono::adapter
