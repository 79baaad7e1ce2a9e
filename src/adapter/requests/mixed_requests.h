// SPDX-License-Identifier: BSD-3-Clause
// What completes requests, where some of them are of messages that Unisono carries. Arrays may have the MPI's
// among them. MPI 4.1, sections 3.7.3 to 3.7.6.
#pragma once

#include "adapter/messages/own_requests.h"

namespace unisono::adapter::mixed {

// Is any of them ours?
inline bool has_own(int count, const MPI_Request* requests) {
  if (!messages::is_on() || requests == nullptr) return false;
  for (int i = 0; i < count; ++i) {
    if (messages::is_own(requests[i])) return true;
  }
  return false;
}
inline bool has_own(const MPI_Request* request) {
  return messages::is_on() && request != nullptr && messages::is_own(*request);
}

// One of ours, persistent and not started: functions that ask for any or some pass over it.
inline bool is_inactive_own(MPI_Request request) {
  return has_own(&request) && messages::is_inactive(messages::request_of(request));
}

// Of one of ours.
int wait(MPI_Request* request, MPI_Status* status);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int get_status(MPI_Request request, int* flag, MPI_Status* status);
// Of arrays with one of ours.
int waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int waitsome(int count, MPI_Request* requests, int* completed_count, int* completed, MPI_Status* statuses);
int testsome(int count, MPI_Request* requests, int* completed_count, int* completed, MPI_Status* statuses);

}  // namespace unisono::adapter::mixed
