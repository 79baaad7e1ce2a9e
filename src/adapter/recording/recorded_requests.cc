// SPDX-License-Identifier: BSD-3-Clause
// What completes, starts, cancels and frees requests. Those of receives are known by their handles.
#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "adapter/recording/calls.h"

namespace unisono::adapter::recording {

namespace {

bool is_cancelled(const MPI_Status& status) {
  static const auto test_cancelled =
      reinterpret_cast<decltype(&PMPI_Test_cancelled)>(dlsym(pmpi.library, "PMPI_Test_cancelled"));
  int flag = 0;
  return test_cancelled != nullptr && test_cancelled(&status, &flag) == MPI_SUCCESS && flag != 0;
}

// Is any request of interest under way?
bool has_requests() {
  const Recording recording;
  return recording && recording->requests.count() != 0;
}

// The request that had this handle is complete.
void complete(const Recording& recording, MPI_Request handle, const MPI_Status& status, std::uint64_t now) {
  if (handle == MPI_REQUEST_NULL) return;
  Request* request = recording->requests.find(bits_of(handle));
  if (request == nullptr) return;
  Persistent* persistent = request->persistent.get();
  if (persistent != nullptr && !persistent->is_active) return;
  const bool is_over = request->is_cancelled && is_cancelled(status);
  if (persistent == nullptr || !persistent->is_send) {
    if (is_over) {
      recording->cancelled(request->number, now);
    } else {
      recording->received(*request->known, request->number, request->has_wildcard, status, now);
    }
  }
  request->is_cancelled = false;
  if (persistent == nullptr) return recording->requests.erase(request);
  persistent->is_active = false;
}

// What arrays were before a call, and statuses that the program does not want: kept by each thread.
struct Arrays {
  std::vector<MPI_Request> before;
  std::vector<MPI_Status> statuses;
  bool is_recorded = false;

  void begin(int count, const MPI_Request* requests, MPI_Status** wanted) {
    is_recorded = count > 0 && requests != nullptr && has_requests();
    if (!is_recorded) return;
    before.assign(requests, requests + count);
    if (*wanted != MPI_STATUSES_IGNORE) return;
    statuses.resize(std::max(statuses.size(), before.size()));
    *wanted = statuses.data();
  }
  // All are over, or after an error those whose handles have gone.
  void end_all(int result, const MPI_Request* requests, const MPI_Status* found) const {
    if (!is_recorded || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)) return;
    const Recording recording;
    if (!recording) return;
    const std::uint64_t now = ticks();
    for (std::size_t i = 0; i < before.size(); ++i)
      if (result == MPI_SUCCESS || requests[i] == MPI_REQUEST_NULL)
        complete(recording, before[i], found[i], now);
  }
  void end_some(int result, int count, const int* which, const MPI_Status* found) const {
    if (!is_recorded || count <= 0 || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)) return;
    const Recording recording;
    if (!recording) return;
    const std::uint64_t now = ticks();
    for (int i = 0; i < count; ++i)
      complete(recording, before[static_cast<std::size_t>(which[i])], found[i], now);
  }
};
Arrays& arrays() {
  static thread_local Arrays own;
  return own;
}

void end_one(int result, MPI_Request before, const MPI_Status& status) {
  if (result != MPI_SUCCESS) return;
  const Recording recording;
  if (recording) complete(recording, before, status, ticks());
}

int wait(MPI_Request* request, MPI_Status* status) {
  const auto target = under<unisono_slot_Wait>(wait);
  if (request == nullptr || !is_recorded()) return target(request, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const MPI_Request before = *request;
  const int result = target(request, status);
  end_one(result, before, *status);
  return result;
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  const auto target = under<unisono_slot_Test>(test);
  if (request == nullptr || !is_recorded()) return target(request, flag, status);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  const MPI_Request before = *request;
  const int result = target(request, flag, status);
  if (result == MPI_SUCCESS && *flag != 0) end_one(result, before, *status);
  return result;
}

int waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Arrays& kept = arrays();
  kept.begin(count, requests, &statuses);
  const int result = under<unisono_slot_Waitall>(waitall)(count, requests, statuses);
  kept.end_all(result, requests, statuses);
  return result;
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Arrays& kept = arrays();
  kept.begin(count, requests, &statuses);
  const int result = under<unisono_slot_Testall>(testall)(count, requests, flag, statuses);
  if (flag != nullptr && *flag != 0) kept.end_all(result, requests, statuses);
  return result;
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Arrays& kept = arrays();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  kept.begin(count, requests, &status);
  const int result = under<unisono_slot_Waitany>(waitany)(count, requests, index, status);
  if (index != nullptr && *index != MPI_UNDEFINED) kept.end_some(result, 1, index, status);
  return result;
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Arrays& kept = arrays();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  kept.begin(count, requests, &status);
  const int result = under<unisono_slot_Testany>(testany)(count, requests, index, flag, status);
  if (flag != nullptr && *flag != 0 && *index != MPI_UNDEFINED) kept.end_some(result, 1, index, status);
  return result;
}

int waitsome(int count, MPI_Request requests[], int* completed, int which[], MPI_Status statuses[]) {
  Arrays& kept = arrays();
  kept.begin(count, requests, &statuses);
  const int result = under<unisono_slot_Waitsome>(waitsome)(count, requests, completed, which, statuses);
  if (completed != nullptr && *completed != MPI_UNDEFINED) kept.end_some(result, *completed, which, statuses);
  return result;
}

int testsome(int count, MPI_Request requests[], int* completed, int which[], MPI_Status statuses[]) {
  Arrays& kept = arrays();
  kept.begin(count, requests, &statuses);
  const int result = under<unisono_slot_Testsome>(testsome)(count, requests, completed, which, statuses);
  if (completed != nullptr && *completed != MPI_UNDEFINED) kept.end_some(result, *completed, which, statuses);
  return result;
}

// --- Persistent requests, cancels, and requests that are let go ---

void note_start(const Recording& recording, MPI_Request handle, std::uint64_t began) {
  Request* request = recording->requests.find(bits_of(handle));
  if (request == nullptr || request->persistent == nullptr) return;
  Persistent& persistent = *request->persistent;
  const Recorder::Message message{request->known, persistent.peer, persistent.tag, persistent.bytes};
  persistent.is_active = true;
  if (persistent.is_send) {
    recording->sent(message, began);
  } else {
    request->number = recording->posted(message, began);
  }
}

int start(MPI_Request* request) {
  const std::uint64_t began = ticks();
  const int result = under<unisono_slot_Start>(start)(request);
  if (result != MPI_SUCCESS) return result;
  const Recording recording;
  if (recording) note_start(recording, *request, began);
  return result;
}

int startall(int count, MPI_Request requests[]) {
  const std::uint64_t began = ticks();
  const int result = under<unisono_slot_Startall>(startall)(count, requests);
  if (result != MPI_SUCCESS) return result;
  const Recording recording;
  if (!recording) return result;
  for (int i = 0; i < count; ++i) note_start(recording, requests[i], began);
  return result;
}

int cancel(MPI_Request* handle) {
  const int result = under<unisono_slot_Cancel>(cancel)(handle);
  if (result != MPI_SUCCESS) return result;
  const Recording recording;
  if (!recording) return result;
  if (Request* request = recording->requests.find(bits_of(*handle))) request->is_cancelled = true;
  return result;
}

int request_free(MPI_Request* handle) {
  if (handle == nullptr) return under<unisono_slot_Request_free>(request_free)(handle);
  const MPI_Request before = *handle;
  const int result = under<unisono_slot_Request_free>(request_free)(handle);
  if (result != MPI_SUCCESS) return result;
  const Recording recording;
  if (!recording) return result;
  if (Request* request = recording->requests.find(bits_of(before))) recording->requests.erase(request);
  return result;
}

template <class Function>
UnisonoFunction erased(Function* function) {
  return reinterpret_cast<UnisonoFunction>(function);
}

}  // namespace

void add_requests(UnisonoFunction* functions) {
  put(functions, unisono_slot_Wait, erased(wait));
  put(functions, unisono_slot_Waitall, erased(waitall));
  put(functions, unisono_slot_Waitany, erased(waitany));
  put(functions, unisono_slot_Waitsome, erased(waitsome));
  put(functions, unisono_slot_Test, erased(test));
  put(functions, unisono_slot_Testall, erased(testall));
  put(functions, unisono_slot_Testany, erased(testany));
  put(functions, unisono_slot_Testsome, erased(testsome));
  put(functions, unisono_slot_Start, erased(start));
  put(functions, unisono_slot_Startall, erased(startall));
  put(functions, unisono_slot_Cancel, erased(cancel));
  put(functions, unisono_slot_Request_free, erased(request_free));
}

}  // namespace unisono::adapter::recording
