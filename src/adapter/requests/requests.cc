// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/requests.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/nesting.h"
#include "adapter/requests/host_calls.h"
#include "adapter/requests/mixed_requests.h"
#include "adapter/requests/pending.h"
#include "adapter/requests/persistent_requests.h"
#include "adapter/requests/status_errors.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

// Has this process calls under way that stand still while the host waits, or that have failed without the
// host's knowing?
bool must_carry_on() {
  return nesting == 0 && (runtime::has_calls_under_way() || has_host_calls() || has_failures());
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
// our own calls, and mostly it is those that the program waits for. Without a word to the host it is over
// where `is_picked_up` says so.
template <class Try, class PickUp>
int carry_on_until(Try is_over, PickUp is_picked_up) {
  const bool shares_cores = runtime::shares_cores();
  const unsigned looks_per_try = shares_cores ? 4 : 32;
  const unsigned tries_per_yield = shares_cores ? 1 : 4;
  for (unsigned tries = 1;; ++tries) {
    for (unsigned looks = 0; looks < looks_per_try; ++looks) {
      if (is_picked_up()) return MPI_SUCCESS;
      if (carry_on_all()) break;
    }
    int flag = 0;
    const int error = is_over(&flag);
    if (error != MPI_SUCCESS || flag != 0) return error;
    if (tries % tries_per_yield == 0) sched_yield();
  }
}

template <class Try>
int carry_on_until(Try is_over) {
  return carry_on_until(is_over, [] { return false; });
}

Mutex op_mutex;
std::vector<MPI_Op> freed_ops UNISONO_GUARDED_BY(op_mutex);  // by the program, while calls needed them

void free_ops() {
  const LockGuard lock(op_mutex);
  for (MPI_Op& op : freed_ops) pmpi.Op_free(&op);
  freed_ops.clear();
}

std::vector<MPI_Request> copy_of(int count, const MPI_Request requests[]) {
  return count <= 0 || requests == nullptr ? std::vector<MPI_Request>()
                                           : std::vector<MPI_Request>(requests, requests + count);
}

// The host sets the errors of statuses only where it has one.
void clear_errors(int count, MPI_Status* statuses) {
  for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
}

// Of `count` requests that the host has completed: those at the places `which` (null: the first ones).
// `error` is the host's, which may have failed ones too. Returns the error of the whole.
int with_failures(Failures* failures, int error, const std::vector<MPI_Request>& before, int count,
                  const int* which, MPI_Status* statuses) {
  int result = error;
  for (int i = 0; i < count; ++i) {
    const int of_ours = failures->raise_of(before[static_cast<std::size_t>(which == nullptr ? i : which[i])]);
    if (of_ours == MPI_SUCCESS) continue;
    if (statuses != MPI_STATUSES_IGNORE) {
      if (result == MPI_SUCCESS) clear_errors(count, statuses);
      statuses[i].MPI_ERROR = of_ours;
    }
    result = MPI_ERR_IN_STATUS;
  }
  return result;
}

// Of any of the requests, where the host says that one is complete.
int with_failure_at(Failures* failures, const std::vector<MPI_Request>& before, int index) {
  return index == MPI_UNDEFINED ? MPI_SUCCESS : failures->raise_of(before[static_cast<std::size_t>(index)]);
}

// The host's Waitsome or Testsome, and what of ours has failed among those that it has completed.
template <class Some>
int complete_some(Some some, int count, MPI_Request requests[], int* completed_count, int completed[],
                  MPI_Status statuses[]) {
  if (completed_count == nullptr || completed == nullptr) return some(completed_count);
  Failures failures;
  const std::vector<MPI_Request> before = copy_of(count, requests);
  *completed_count = 0;  // where the host rejects the call
  const int error = some(completed_count);
  return with_failures(&failures, error, before, std::max(0, *completed_count), completed, statuses);
}

// Apart: nothing of it is touched where a result is picked up.
[[gnu::noinline]] int wait_and_carry_on(MPI_Request* request, runtime::Pickup* place, MPI_Status* status) {
  if (mixed::has_own(request)) return mixed::wait(request, status);
  const auto is_picked_up = [&] { return pick_up_or_wait(request, place, status); };
  if (!must_carry_on() || request == nullptr) return pmpi.Wait(request, status);
  Failures failures;
  const MPI_Request before = *request;
  const int error = carry_on_until([&](int* flag) { return pmpi.Test(request, flag, status); }, is_picked_up);
  return error == MPI_SUCCESS ? failures.raise_of(before) : error;
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  runtime::Pickup* place = request == nullptr ? nullptr : pickup_of(*request);
  if (place != nullptr && pick_up(request, place, status)) return MPI_SUCCESS;
  return wait_and_carry_on(request, place, status);
}

// One after the other, since MPI_Testall of MPICH 5 fails where a persistent collective of its own is among
// the requests. Behind an error those that are not over are left, as hosts leave them.
int waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (mixed::has_own(count, requests)) return mixed::waitall(count, requests, statuses);
  if (!must_carry_on() || count <= 0 || requests == nullptr) return pmpi.Waitall(count, requests, statuses);
  Failures failures;
  StatusErrors errors(statuses);
  for (int i = 0; i < count; ++i) {
    MPI_Status status{};
    const MPI_Request before = requests[i];
    int is_over = 1;
    int error = MPI_SUCCESS;
    runtime::Pickup* place = pickup_of(before);
    const auto is_picked_up = [&] { return pick_up_or_wait(&requests[i], place, &status); };
    if (errors.result() == MPI_SUCCESS) {
      error = carry_on_until([&](int* flag) { return pmpi.Test(&requests[i], flag, &status); }, is_picked_up);
    } else if (!is_picked_up()) {
      error = pmpi.Test(&requests[i], &is_over, &status);
    }
    if (error == MPI_SUCCESS) error = is_over != 0 ? failures.raise_of(before) : MPI_ERR_PENDING;
    if (statuses != MPI_STATUSES_IGNORE) copy_but_error(status, &statuses[i]);
    errors.note(i, error);
  }
  return errors.result();
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (mixed::has_own(count, requests)) return mixed::waitany(count, requests, index, status);
  if (!must_carry_on()) return pmpi.Waitany(count, requests, index, status);
  Failures failures;
  const std::vector<MPI_Request> before = copy_of(count, requests);
  const int error =
      carry_on_until([&](int* flag) { return pmpi.Testany(count, requests, index, flag, status); });
  return error == MPI_SUCCESS ? with_failure_at(&failures, before, *index) : error;
}

int waitsome(int count, MPI_Request requests[], int* completed_count, int completed[],
             MPI_Status statuses[]) {
  if (mixed::has_own(count, requests))
    return mixed::waitsome(count, requests, completed_count, completed, statuses);
  if (!must_carry_on()) return pmpi.Waitsome(count, requests, completed_count, completed, statuses);
  const auto some = [&](int* found) {
    return carry_on_until([&](int* flag) {
      const int error = pmpi.Testsome(count, requests, found, completed, statuses);
      *flag = found == nullptr || *found != 0;  // some, or MPI_UNDEFINED where none is active
      return error;
    });
  };
  return complete_some(some, count, requests, completed_count, completed, statuses);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (mixed::has_own(request)) return mixed::test(request, flag, status);
  runtime::Pickup* place = request == nullptr || flag == nullptr ? nullptr : pickup_of(*request);
  if (place != nullptr && pick_up(request, place, status)) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  carry_on();
  if (!has_failures() || nesting != 0 || request == nullptr) return pmpi.Test(request, flag, status);
  Failures failures;
  const MPI_Request before = *request;
  const int error = pmpi.Test(request, flag, status);
  return error == MPI_SUCCESS && *flag != 0 ? failures.raise_of(before) : error;
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (mixed::has_own(count, requests)) return mixed::testall(count, requests, flag, statuses);
  carry_on();
  if (!has_failures() || nesting != 0 || flag == nullptr)
    return pmpi.Testall(count, requests, flag, statuses);
  Failures failures;
  const std::vector<MPI_Request> before = copy_of(count, requests);
  *flag = 0;  // where the host rejects the call
  const int error = pmpi.Testall(count, requests, flag, statuses);
  const int completed = *flag == 0 ? 0 : static_cast<int>(before.size());
  return with_failures(&failures, error, before, completed, nullptr, statuses);
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (mixed::has_own(count, requests)) return mixed::testany(count, requests, index, flag, status);
  carry_on();
  if (!has_failures() || nesting != 0) return pmpi.Testany(count, requests, index, flag, status);
  Failures failures;
  const std::vector<MPI_Request> before = copy_of(count, requests);
  const int error = pmpi.Testany(count, requests, index, flag, status);
  return error == MPI_SUCCESS && *flag != 0 ? with_failure_at(&failures, before, *index) : error;
}

int testsome(int count, MPI_Request requests[], int* completed_count, int completed[],
             MPI_Status statuses[]) {
  if (mixed::has_own(count, requests))
    return mixed::testsome(count, requests, completed_count, completed, statuses);
  carry_on();
  const auto some = [&](int* found) { return pmpi.Testsome(count, requests, found, completed, statuses); };
  if (!has_failures() || nesting != 0) return some(completed_count);
  return complete_some(some, count, requests, completed_count, completed, statuses);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (mixed::has_own(&request)) return mixed::get_status(request, flag, status);
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
  if (pmpi.Request_get_status_any != nullptr && !mixed::has_own(count, requests))
    return pmpi.Request_get_status_any(count, requests, index, flag, status);
  *index = MPI_UNDEFINED;
  bool is_any_there = false;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL || mixed::is_inactive_own(requests[i])) continue;
    is_any_there = true;
    const int error = request_get_status(requests[i], flag, status);
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
  if (pmpi.Request_get_status_all != nullptr && !mixed::has_own(count, requests))
    return pmpi.Request_get_status_all(count, requests, flag, statuses);
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    const int error = request_get_status(requests[i], flag, status);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int request_get_status_some(int count, const MPI_Request requests[], int* completed_count, int completed[],
                            MPI_Status statuses[]) {
  carry_on();
  if (pmpi.Request_get_status_some != nullptr && !mixed::has_own(count, requests))
    return pmpi.Request_get_status_some(count, requests, completed_count, completed, statuses);
  int found = 0;
  bool is_any_there = false;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL || mixed::is_inactive_own(requests[i])) continue;
    is_any_there = true;
    int flag = 0;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[found];
    const int error = request_get_status(requests[i], &flag, status);
    if (error != MPI_SUCCESS) return error;
    if (flag != 0) completed[found++] = i;
  }
  *completed_count = is_any_there ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

// --- Freeing ---

int op_free(MPI_Op* op) {
  const bool is_needed = runtime::has_calls_under_way() || has_host_calls() || has_persistent_calls();
  if (op == nullptr || !is_needed || !is_user_defined(*op)) {
    if (!is_needed) free_ops();
    return pmpi.Op_free(op);
  }
  const LockGuard lock(op_mutex);
  freed_ops.push_back(*op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

void end_requests() {
  free_ops();
  end_persistent_calls();
  end_kept_requests();
}

}  // namespace unisono::adapter
