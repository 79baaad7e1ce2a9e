// SPDX-License-Identifier: BSD-3-Clause
#include "host/mpi/requests.h"

#include <sched.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "host/mpi/datatype.h"
#include "host/mpi/pending.h"

namespace unisono::host::mpi {
namespace {

// Has this process calls under way that stand still while the host waits?
bool must_carry_on() {
  return nesting == 0 && (runtime::has_calls_under_way() || has_host_calls());
}

bool carry_on_all() {
  const Nested nested;
  const bool has_ended = runtime::make_progress();
  return look_at_host_calls() || has_ended;
}

void carry_on() {
  if (must_carry_on()) carry_on_all();
}

// What to ask the host again and again until it says that it is over. Asking costs far more than a look at
// our own calls, and mostly it is those that the program waits for.
template <class Try>
int carry_on_until(Try is_over) {
  const bool shares_cores = runtime::shares_cores();
  const unsigned looks_per_try = shares_cores ? 4 : 32;
  const unsigned tries_per_yield = shares_cores ? 1 : 4;
  for (unsigned tries = 1;; ++tries) {
    for (unsigned looks = 0; looks < looks_per_try && !carry_on_all(); ++looks) {
    }
    int flag = 0;
    const int error = is_over(&flag);
    if (error != MPI_SUCCESS || flag != 0) return error;
    if (tries % tries_per_yield == 0) sched_yield();
  }
}

std::mutex op_mutex;
std::vector<MPI_Op> freed_ops;  // by the program, while calls needed them

void free_ops() {
  const std::lock_guard lock(op_mutex);
  for (MPI_Op& op : freed_ops) pmpi.Op_free(&op);
  freed_ops.clear();
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  if (!must_carry_on()) return pmpi.Wait(request, status);
  return carry_on_until([&](int* flag) { return pmpi.Test(request, flag, status); });
}

// One after the other, since MPI_Testall of MPICH 5 fails where a persistent collective of its own is among
// the requests.
int waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!must_carry_on()) return pmpi.Waitall(count, requests, statuses);
  int result = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    const int error = carry_on_until([&](int* flag) { return pmpi.Test(&requests[i], flag, &status); });
    if (error != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
    status.MPI_ERROR = error;
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = status;
  }
  return result;
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!must_carry_on()) return pmpi.Waitany(count, requests, index, status);
  return carry_on_until([&](int* flag) { return pmpi.Testany(count, requests, index, flag, status); });
}

int waitsome(int count, MPI_Request requests[], int* completed_count, int completed[],
             MPI_Status statuses[]) {
  if (!must_carry_on()) return pmpi.Waitsome(count, requests, completed_count, completed, statuses);
  return carry_on_until([&](int* flag) {
    const int error = pmpi.Testsome(count, requests, completed_count, completed, statuses);
    *flag = *completed_count != 0;  // some, or MPI_UNDEFINED where none is active
    return error;
  });
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  carry_on();
  return pmpi.Test(request, flag, status);
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  carry_on();
  return pmpi.Testall(count, requests, flag, statuses);
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  carry_on();
  return pmpi.Testany(count, requests, index, flag, status);
}

int testsome(int count, MPI_Request requests[], int* completed_count, int completed[],
             MPI_Status statuses[]) {
  carry_on();
  return pmpi.Testsome(count, requests, completed_count, completed, statuses);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  carry_on();
  return pmpi.Request_get_status(request, flag, status);
}

// --- MPI 4.1's, which hosts before it lack: made of the one that all have ---

namespace {

int set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  pmpi.Status_set_cancelled(status, 0);
  return pmpi.Status_set_elements(status, MPI_BYTE, 0);
}

}  // namespace

int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                           MPI_Status* status) {
  carry_on();
  if (pmpi.Request_get_status_any != nullptr)
    return pmpi.Request_get_status_any(count, requests, index, flag, status);
  *index = MPI_UNDEFINED;
  bool is_any_there = false;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    is_any_there = true;
    const int error = pmpi.Request_get_status(requests[i], flag, status);
    if (error != MPI_SUCCESS) return error;
    if (*flag != 0) {
      *index = i;
      return MPI_SUCCESS;
    }
  }
  if (is_any_there) return MPI_SUCCESS;
  *flag = 1;
  return set_empty(status);
}

int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  carry_on();
  if (pmpi.Request_get_status_all != nullptr)
    return pmpi.Request_get_status_all(count, requests, flag, statuses);
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    const int error = pmpi.Request_get_status(requests[i], flag, status);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int request_get_status_some(int count, const MPI_Request requests[], int* completed_count, int completed[],
                            MPI_Status statuses[]) {
  carry_on();
  if (pmpi.Request_get_status_some != nullptr)
    return pmpi.Request_get_status_some(count, requests, completed_count, completed, statuses);
  int found = 0;
  bool is_any_there = false;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    is_any_there = true;
    int flag = 0;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[found];
    const int error = pmpi.Request_get_status(requests[i], &flag, status);
    if (error != MPI_SUCCESS) return error;
    if (flag != 0) completed[found++] = i;
  }
  *completed_count = is_any_there ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

// --- Freeing ---

namespace {

// Collective: the calls under way on the communicator end before the host is inside, and so does its set-up.
void end_calls_on(const MPI_Comm* comm) {
  if (comm == nullptr || nesting != 0) return;
  const Nested nested;
  runtime::end_calls(widen<Comm>(*comm));
}

}  // namespace

int comm_free(MPI_Comm* comm) {
  end_calls_on(comm);
  return pmpi.Comm_free(comm);
}

int comm_disconnect(MPI_Comm* comm) {
  end_calls_on(comm);
  return pmpi.Comm_disconnect(comm);
}

int op_free(MPI_Op* op) {
  const bool is_needed = runtime::has_calls_under_way() || has_host_calls() || has_persistent_calls();
  if (op == nullptr || !is_needed || !is_user_defined(*op)) {
    if (!is_needed) free_ops();
    return pmpi.Op_free(op);
  }
  const std::lock_guard lock(op_mutex);
  freed_ops.push_back(*op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

void end_requests() {
  free_ops();
  end_persistent_calls();
}

}  // namespace unisono::host::mpi
