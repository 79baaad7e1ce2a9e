// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/failures.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/requests/persistent_requests.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

std::atomic<int> failure_count{0};
Mutex failure_mutex;
std::vector<Failure*> failures_kept UNISONO_GUARDED_BY(failure_mutex);
thread_local bool is_handled = false;
// What the host has told while somebody asked. No address of a frame: an error handler may leave by longjmp.
thread_local bool is_asked = false;
thread_local std::vector<std::pair<MPI_Request, Failure>> told;

}  // namespace

bool has_failures() {
  return failure_count.load(std::memory_order_acquire) != 0;
}

void forget_handler_of(MPI_Comm freed) {
  if (!has_failures()) return;
  const LockGuard lock(failure_mutex);
  for (Failure* failure : failures_kept) {
    if (failure->comm == freed) failure->comm = MPI_COMM_NULL;
  }
}

void note_failure(Failure* failure, MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return;
  *failure = {comm, error, is_handled};
  failure_count.fetch_add(1, std::memory_order_release);
  const LockGuard lock(failure_mutex);
  failures_kept.push_back(failure);
}

void drop_failure(Failure* failure) {
  if (failure->error == MPI_SUCCESS) return;
  const LockGuard lock(failure_mutex);
  std::erase(failures_kept, failure);
  *failure = {};
  failure_count.fetch_sub(1, std::memory_order_release);
}

int raise(const Failure& failure) {
  if (failure.error == MPI_SUCCESS || failure.is_handled || failure.comm == MPI_COMM_NULL)
    return failure.error;
  const Outside outside;
  pmpi.Comm_call_errhandler(failure.comm, failure.error);
  return failure.error;
}

HandledErrors::HandledErrors() {
  is_handled = true;
}
HandledErrors::~HandledErrors() {
  is_handled = false;
}

void tell_failure(MPI_Request request, const Failure& failure) {
  if (is_asked && failure.error != MPI_SUCCESS) told.emplace_back(request, failure);
}

Failures::Failures() : before_(std::exchange(is_asked, true)) {
  told.clear();
}
Failures::~Failures() {
  is_asked = before_;
}

int Failures::raise_of(MPI_Request request) {
  // A handler may wait for other requests.
  told_.insert(told_.end(), told.begin(), told.end());
  told.clear();
  const auto found =
      std::find_if(told_.begin(), told_.end(), [&](const auto& entry) { return entry.first == request; });
  if (found != told_.end()) return raise(found->second);
  Failure* of_persistent = failure_of_persistent(request);
  if (of_persistent == nullptr) return MPI_SUCCESS;
  const Failure failure = *of_persistent;
  drop_failure(of_persistent);
  return raise(failure);
}

}  // namespace unisono::adapter
