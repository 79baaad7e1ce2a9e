// SPDX-License-Identifier: BSD-3-Clause
// From a persistent call to its request, and its starts. See requests.h.
#include "adapter/requests/persistent_requests.h"

#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/nesting.h"
#include "adapter/below/private_comm.h"
#include "adapter/requests/host_calls.h"
#include "adapter/requests/host_part.h"
#include "adapter/requests/mixed_requests.h"
#include "adapter/requests/pending.h"
#include "adapter/requests/requests.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

struct Persistent {
  std::unique_ptr<PersistentCall> made;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm self = MPI_COMM_NULL;  // on which the request waits for its message
  int tag = 0;
  std::atomic<int> users{1};  // the request, and the call while it is under way
  Failure failure;
};

Mutex persistent_mutex;
std::map<std::uintptr_t, std::unique_ptr<Persistent>>& persistent_calls() UNISONO_REQUIRES(persistent_mutex) {
  static auto* calls = new std::map<std::uintptr_t, std::unique_ptr<Persistent>>;
  return *calls;
}
std::atomic<int> persistent_count{0};
std::map<std::uintptr_t, std::unique_ptr<PersistentCall>>& calls_of_host()
    UNISONO_REQUIRES(persistent_mutex) {
  static auto* calls = new std::map<std::uintptr_t, std::unique_ptr<PersistentCall>>;
  return *calls;
}
std::atomic<int> host_persistent_count{0};
std::vector<int> free_tags UNISONO_GUARDED_BY(persistent_mutex);
int next_tag UNISONO_GUARDED_BY(persistent_mutex) = 0;
MPI_Comm private_self UNISONO_GUARDED_BY(persistent_mutex) = MPI_COMM_NULL;

Persistent* find_persistent(MPI_Request request) {
  if (persistent_count.load(std::memory_order_acquire) == 0 || request == MPI_REQUEST_NULL) return nullptr;
  const LockGuard lock(persistent_mutex);
  const auto found = persistent_calls().find(widen<std::uintptr_t>(request));
  return found == persistent_calls().end() ? nullptr : found->second.get();
}

void give_back_tag(int tag) {
  const LockGuard lock(persistent_mutex);
  free_tags.push_back(tag);
}

// The host's request ends when the call is over: MPICH 4 loses messages to one that is freed before. What the
// call held may call functions of the program when it ends: not under the lock.
int drop_user(Persistent* call) {
  if (call->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return MPI_SUCCESS;
  const Nested nested;
  drop_failure(&call->failure);
  pmpi.Wait(&call->request, MPI_STATUS_IGNORE);
  const int error = pmpi.Request_free(&call->request);
  give_back_tag(call->tag);
  delete call;
  return error;
}

void persistent_has_ended(void* context, int error) {
  auto* call = static_cast<Persistent*>(context);
  const PersistentCall& made = *call->made;
  const bool is_freed = made.prepared != nullptr && runtime::is_communicator_freed(*made.prepared);
  note_failure(&call->failure, is_freed ? MPI_COMM_NULL : made.comm, error);
  pmpi.Send(nullptr, 0, MPI_BYTE, 0, call->tag, call->self);
  drop_user(call);
}

bool start_taken(const PersistentCall& call, const runtime::Completion& completion, int* error) {
  runtime::HostPart* host = nullptr;
  const auto outcome =
      runtime::start_prepared(call.prepared, completion, call.can_be_checked ? &host : nullptr);
  return is_taken(outcome, host, error);
}

int start_persistent(Persistent* call) {
  const Nested nested;
  int error = pmpi.Start(&call->request);
  if (error != MPI_SUCCESS) return error;
  call->users.fetch_add(1, std::memory_order_relaxed);
  const runtime::Completion completion{persistent_has_ended, call};
  if (call->made->prepared != nullptr) {
    if (start_taken(*call->made, completion, &error)) return error;
    persistent_has_ended(call, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;  // Unisono's life is over
  }
  HostCall host_call;
  call->made->count_start();
  {
    const Outside outside;
    error = call->made->start(&host_call.request);
  }
  if (error != MPI_SUCCESS) {
    persistent_has_ended(call, MPI_SUCCESS);
    return error;
  }
  host_call.completion = completion;
  look_after(std::move(host_call));
  return MPI_SUCCESS;
}

}  // namespace

Failure* failure_of_persistent(MPI_Request request) {
  Persistent* call = find_persistent(request);
  return call == nullptr ? nullptr : &call->failure;
}

const MPI_Datatype* PersistentCall::hold(const MPI_Datatype* list, int count) {
  std::vector<MPI_Datatype>& held = type_lists.emplace_back();
  for (int i = 0; i < count; ++i) held.push_back(hold(list[i]));
  return held.data();
}

namespace {

// Nothing of the host's is called under the lock. Of two threads that come here first one gives way.
int find_private_self(MPI_Comm* self) {
  {
    const LockGuard lock(persistent_mutex);
    *self = private_self;
    if (*self != MPI_COMM_NULL) return MPI_SUCCESS;
  }
  MPI_Comm made = MPI_COMM_NULL;
  const int error = make_private(MPI_COMM_SELF, false, &made);
  if (error != MPI_SUCCESS) return error;
  {
    const LockGuard lock(persistent_mutex);
    if (private_self == MPI_COMM_NULL) std::swap(private_self, made);
    *self = private_self;
  }
  if (made != MPI_COMM_NULL) pmpi.Comm_free(&made);
  return MPI_SUCCESS;
}

int take_tag() {
  const LockGuard lock(persistent_mutex);
  if (free_tags.empty()) return next_tag++;
  const int tag = free_tags.back();
  free_tags.pop_back();
  return tag;
}

}  // namespace

int make_persistent(std::unique_ptr<PersistentCall> made, MPI_Request* request) {
  const Nested nested;
  auto call = std::make_unique<Persistent>();
  int error = find_private_self(&call->self);
  if (error != MPI_SUCCESS) return error;
  call->tag = take_tag();
  error = pmpi.Recv_init(nullptr, 0, MPI_BYTE, 0, call->tag, call->self, &call->request);
  if (error != MPI_SUCCESS) {
    give_back_tag(call->tag);
    return error;
  }
  call->made = std::move(made);
  *request = call->request;
  const LockGuard lock(persistent_mutex);
  persistent_calls()[widen<std::uintptr_t>(*request)] = std::move(call);
  persistent_count.fetch_add(1, std::memory_order_release);
  return MPI_SUCCESS;
}

void keep_for_host(std::unique_ptr<PersistentCall> made, MPI_Request request) {
  if (made->holds_nothing()) return;
  const LockGuard lock(persistent_mutex);
  calls_of_host()[widen<std::uintptr_t>(request)] = std::move(made);
  host_persistent_count.store(static_cast<int>(calls_of_host().size()), std::memory_order_release);
}

bool has_persistent_calls() {
  return persistent_count.load(std::memory_order_relaxed) != 0;
}

void end_persistent_calls() {
  if (has_persistent_calls()) return;
  MPI_Comm self = MPI_COMM_NULL;
  {
    const LockGuard lock(persistent_mutex);
    std::swap(private_self, self);
  }
  if (self != MPI_COMM_NULL) pmpi.Comm_free(&self);
}

// Before the host starts it: is it one of its own persistent collectives, of which we keep something?
static void count_start_of_host(MPI_Request request) {
  if (host_persistent_count.load(std::memory_order_acquire) == 0) return;
  const LockGuard lock(persistent_mutex);
  const auto found = calls_of_host().find(widen<std::uintptr_t>(request));
  if (found != calls_of_host().end()) found->second->count_start();
}

int start(MPI_Request* request) {
  if (mixed::has_own(request)) return messages::start_own(request);
  Persistent* call = request == nullptr ? nullptr : find_persistent(*request);
  if (call != nullptr) return start_persistent(call);
  if (request != nullptr) count_start_of_host(*request);
  return pmpi.Start(request);
}

int startall(int count, MPI_Request requests[]) {
  if (count < 0 || requests == nullptr || (!has_persistent_calls() && !mixed::has_own(count, requests))) {
    for (int i = 0; i < count && requests != nullptr; ++i) count_start_of_host(requests[i]);
    return pmpi.Startall(count, requests);
  }
  for (int i = 0; i < count; ++i) {
    const int error = start(&requests[i]);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

// The host says it as it does of its own collectives: by the error handler that it takes where it knows no
// communicator.
int cancel(MPI_Request* request) {
  if (mixed::has_own(request)) return messages::cancel_own(request);
  bool is_refused = request != nullptr && find_persistent(*request) != nullptr;
  int error = MPI_SUCCESS;
  if (!is_refused) {
    take_refused_cancel();
    error = pmpi.Cancel(request);
    is_refused = take_refused_cancel();
  }
  if (!is_refused) return error;
  MPI_Request none = MPI_REQUEST_NULL;
  return pmpi.Cancel(&none);
}

int request_free(MPI_Request* request) {
  if (mixed::has_own(request)) return messages::free_own(request);
  Persistent* call = request == nullptr ? nullptr : find_persistent(*request);
  if (call == nullptr) {
    std::unique_ptr<PersistentCall> kept;
    if (request != nullptr && host_persistent_count.load(std::memory_order_acquire) != 0) {
      const LockGuard lock(persistent_mutex);
      const auto found = calls_of_host().find(widen<std::uintptr_t>(*request));
      if (found != calls_of_host().end()) {
        kept = std::move(found->second);
        calls_of_host().erase(found);
        host_persistent_count.fetch_sub(1, std::memory_order_release);
      }
    }
    return pmpi.Request_free(request);
  }
  {
    const LockGuard lock(persistent_mutex);
    persistent_calls().find(widen<std::uintptr_t>(*request))->second.release();
    persistent_calls().erase(widen<std::uintptr_t>(*request));
    persistent_count.fetch_sub(1, std::memory_order_release);
  }
  *request = MPI_REQUEST_NULL;
  return drop_user(call);
}

// Ranks come here at different times. MPI_Comm_free is collective, but MPIs make it local, as MPI expects.
PersistentCall::~PersistentCall() {
  if (is_comm_private) pmpi.Comm_free(&comm);
}

// With MPI_THREAD_MULTIPLE the calls stay on the program's communicator. Inside Open MPI 4 several threads
// that make communicators at once may stand still, more often the more of them there are.
int PersistentCall::take_private_comm(bool has_topology) {
  const Nested nested;
  int level = MPI_THREAD_SINGLE;
  if (pmpi.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE) return MPI_SUCCESS;
  MPI_Comm made = MPI_COMM_NULL;
  const int error = make_private(comm, has_topology, &made);
  if (error != MPI_SUCCESS) return error;
  comm = made;
  is_comm_private = true;
  return MPI_SUCCESS;
}

}  // namespace unisono::adapter
