// SPDX-License-Identifier: BSD-3-Clause
// Calls that have failed behind requests of ours. The host completes those as if all were well; the wrappers
// of the functions that complete requests tell the program (MPI 4.1, section 9.3).
#pragma once

#include <utility>
#include <vector>

#include "adapter/below/family.h"

namespace unisono::adapter {

struct Failure {
  // Of the call: its error handler is told, unless it has been. Null: nobody is, since it was freed.
  MPI_Comm comm = MPI_COMM_NULL;
  int error = MPI_SUCCESS;
  bool is_handled = false;
};

// Is there one of which the program has not heard?
bool has_failures();
// The communicator has ended: its handle may come again for another one.
void forget_handler_of(MPI_Comm freed);

// A call has ended with `error`; nothing happens where that is none.
void note_failure(Failure* failure, MPI_Comm comm, int error);
// The program has heard of it, or never will.
void drop_failure(Failure* failure);
// Calls the error handler, where that is due. Returns the error.
int raise(const Failure& failure);

// While it lives, what ends on this thread has called its error handler already: failures of the host's
// calls.
class HandledErrors {
 public:
  HandledErrors();
  ~HandledErrors();
  HandledErrors(const HandledErrors&) = delete;
  HandledErrors& operator=(const HandledErrors&) = delete;
};

// The host completes `request`: to be told to whoever waits for it.
void tell_failure(MPI_Request request, const Failure& failure);

// While the host completes requests for a wrapper.
class Failures {
 public:
  Failures();
  ~Failures();
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;
  // Of a completed request, by the handle that it had: calls the error handler and returns the error;
  // MPI_SUCCESS where there is none.
  int raise_of(MPI_Request request);

 private:
  std::vector<std::pair<MPI_Request, Failure>> told_;
  bool before_;
};

}  // namespace unisono::adapter
