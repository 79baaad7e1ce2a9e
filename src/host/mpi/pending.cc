// SPDX-License-Identifier: BSD-3-Clause
// From a call that does not block to its request. See requests.h.
#include "host/mpi/pending.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "host/mpi/communicators.h"
#include "host/mpi/datatype.h"
#include "host/mpi/failures.h"
#include "host/mpi/host_part.h"
#include "host/mpi/private_comm.h"
#include "host/mpi/requests.h"

namespace unisono::host::mpi {
namespace {

// --- MPI_I calls ---

// One call between its start and the end of its request, whichever of the host and the runtime sees it last.
struct Pending {
  enum State : std::uint8_t { neither, has_request, has_ended };
  std::atomic<std::uint8_t> state{neither};
  std::atomic<int> users{0};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  HeldTypes held_types;
  std::vector<Datatype> held_lists;
  std::unique_ptr<StagedCall> staged;  // where the call works on copies
  Failure failure;
};

std::mutex spare_mutex;
std::vector<Pending*> spare;  // for reuse; never given back

Pending* take_pending() {
  Pending* pending = nullptr;
  {
    const std::lock_guard lock(spare_mutex);
    if (!spare.empty()) {
      pending = spare.back();
      spare.pop_back();
    }
  }
  if (pending == nullptr) pending = new Pending;
  pending->state.store(Pending::neither, std::memory_order_relaxed);
  pending->users.store(2, std::memory_order_relaxed);  // the request, and the call
  return pending;
}

void drop_user(Pending* pending) {
  if (pending->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  drop_failure(&pending->failure);
  const std::lock_guard lock(spare_mutex);
  spare.push_back(pending);
}

// The program waits for no message: such a status says nothing.
int query(void* state, MPI_Status* status) {
  auto* pending = static_cast<Pending*>(state);
  tell_failure(pending->request, pending->failure);
  pmpi.Status_set_elements(status, MPI_BYTE, 0);
  pmpi.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int request_is_gone(void* state) {
  drop_user(static_cast<Pending*>(state));
  return MPI_SUCCESS;
}
// Collectives cannot be cancelled, but what this returns not every host hands on: cancel() does.
thread_local bool is_cancel_of_ours = false;
int refuse_cancel(void*, int) {
  is_cancel_of_ours = true;
  return MPI_SUCCESS;
}

void call_has_ended(void* context, int error) {
  auto* pending = static_cast<Pending*>(context);
  note_failure(&pending->failure, pending->comm, error);
  pending->staged.reset();
  pending->held_types.release();
  const auto before = pending->state.exchange(Pending::has_ended, std::memory_order_acq_rel);
  if (before == Pending::has_request) pmpi.Grequest_complete(pending->request);
  drop_user(pending);
}

// The program may free its types while the call is under way. Lists of them become the call's own.
int hold_types(runtime::Call* call, Pending* pending) {
  for (Datatype type : {call->send_type, call->recv_type, call->send_blocks.type, call->recv_blocks.type})
    pending->held_types.hold(mpi::native(type));
  int size = 0;
  pending->held_lists.clear();
  if (call->recv_blocks.types == nullptr) return MPI_SUCCESS;
  const int error = pmpi.Comm_size(mpi::native(call->comm), &size);
  if (error != MPI_SUCCESS) return error;
  pending->held_lists.reserve(2 * static_cast<std::size_t>(size));
  for (const Datatype** list : {&call->send_blocks.types, &call->recv_blocks.types}) {
    if (*list == nullptr) continue;
    const std::size_t first = pending->held_lists.size();
    for (int i = 0; i < size; ++i) {
      pending->held_lists.push_back((*list)[i]);
      pending->held_types.hold(mpi::native((*list)[i]));
    }
    *list = pending->held_lists.data() + first;
  }
  return MPI_SUCCESS;
}

// The call is under way, or over already.
int make_request(Pending* pending, MPI_Request* request) {
  const int error = pmpi.Grequest_start(query, request_is_gone, refuse_cancel, pending, &pending->request);
  if (error != MPI_SUCCESS) {
    while (pending->state.load(std::memory_order_acquire) != Pending::has_ended) {
      runtime::make_progress();
      look_at_host_calls();
    }
    drop_user(pending);
    return error;
  }
  *request = pending->request;
  const auto before = pending->state.exchange(Pending::has_request, std::memory_order_acq_rel);
  if (before == Pending::has_ended) pmpi.Grequest_complete(pending->request);
  return MPI_SUCCESS;
}

// --- The host's calls behind requests of ours ---

struct HostCall {
  MPI_Request request = MPI_REQUEST_NULL;
  std::shared_ptr<void> kept;
  runtime::Completion completion;
};

std::mutex host_call_mutex;
std::deque<HostCall> host_calls;
std::atomic<int> host_call_count{0};

bool take_host_call(HostCall* call) {
  const std::lock_guard lock(host_call_mutex);
  if (host_calls.empty()) return false;
  *call = std::move(host_calls.front());
  host_calls.pop_front();
  return true;
}

void look_after(HostCall call) {
  const std::lock_guard lock(host_call_mutex);
  host_calls.push_back(std::move(call));
  host_call_count.fetch_add(1, std::memory_order_release);
}

}  // namespace

bool has_host_calls() {
  return host_call_count.load(std::memory_order_relaxed) != 0;
}

bool look_at_host_calls() {
  if (!has_host_calls()) return false;
  std::size_t to_look_at = 0;
  {
    const std::lock_guard lock(host_call_mutex);
    to_look_at = host_calls.size();
  }
  bool has_ended = false;
  // One at a time, without the lock: the program's error handler may run, and may never return.
  for (HostCall call; to_look_at-- > 0 && take_host_call(&call);) {
    int flag = 0, error = MPI_SUCCESS;
    {
      const Outside outside;
      error = pmpi.Test(&call.request, &flag, MPI_STATUS_IGNORE);
    }
    if (error == MPI_SUCCESS && flag == 0) {
      const std::lock_guard lock(host_call_mutex);
      host_calls.push_back(std::move(call));
      continue;
    }
    has_ended = true;
    host_call_count.fetch_sub(1, std::memory_order_release);
    const HandledErrors handled;
    call.completion.call(call.completion.context, error);
  }
  return has_ended;
}

namespace {

// Is the call the runtime's? *error: of the host's part, where it is to make one.
bool is_taken(runtime::Outcome outcome, runtime::HostPart* host, int* error) {
  *error = MPI_SUCCESS;
  if (outcome == runtime::Outcome::compared) {
    const Outside outside;
    *error = start_host_part(host);
  }
  return outcome == runtime::Outcome::done || outcome == runtime::Outcome::compared;
}

bool start_taken(const runtime::Call& call, const runtime::Completion& completion, int* error) {
  runtime::HostPart* host = nullptr;
  const auto outcome = runtime::start_collective(call, completion, can_start(call) ? &host : nullptr);
  return is_taken(outcome, host, error);
}

bool start_taken(const PersistentCall& call, const runtime::Completion& completion, int* error) {
  runtime::HostPart* host = nullptr;
  const auto outcome =
      runtime::start_prepared(call.prepared, completion, call.can_be_checked ? &host : nullptr);
  return is_taken(outcome, host, error);
}

}  // namespace

bool start_request(const runtime::Call& call, MPI_Request* request, int* error) {
  const Nested nested;
  Pending* pending = take_pending();
  pending->comm = mpi::native(call.comm);
  runtime::Call held = call;
  held.may_outlive = is_of_session(mpi::native(call.comm));
  *error = hold_types(&held, pending);
  if (*error == MPI_SUCCESS) {
    pending->staged = stage_if_needed(held);
  } else {
    runtime::left_to_host(call.operation, runtime::NativeReason::datatype);
  }
  if (pending->staged != nullptr) held = pending->staged->call();
  if (*error != MPI_SUCCESS || !start_taken(held, {call_has_ended, pending}, error)) {
    pending->staged.reset();
    pending->held_types.release();
    drop_user(pending);
    drop_user(pending);
    return false;  // the host's error handlers speak
  }
  const bool has_ended = pending->state.load(std::memory_order_acquire) == Pending::has_ended;
  if (has_ended && pending->failure.error != MPI_SUCCESS) {
    *error = raise(pending->failure);  // as where the host refuses the call
    drop_user(pending);
  } else if (*error == MPI_SUCCESS) {
    *error = make_request(pending, request);
  } else {
    drop_user(pending);  // there is no request; Unisono's part goes on
  }
  return true;
}

int start_keeping(std::shared_ptr<void> kept, const Start& start, MPI_Request* request) {
  HostCall call;
  const int error = start(&call.request);
  if (error != MPI_SUCCESS) return error;
  Pending* pending = take_pending();
  pending->comm = MPI_COMM_SELF;  // where an error is, the host's handler has been called
  call.kept = std::move(kept);
  call.completion = {call_has_ended, pending};
  look_after(std::move(call));
  return make_request(pending, request);
}

// --- MPI_..._init calls ---

namespace {

struct Persistent {
  std::unique_ptr<PersistentCall> made;
  MPI_Request request = MPI_REQUEST_NULL;
  int tag = 0;
  std::atomic<int> users{1};  // the request, and the call while it is under way
  Failure failure;
};

std::mutex persistent_mutex;
std::map<std::uintptr_t, std::unique_ptr<Persistent>>& persistent_calls() {
  static auto* calls = new std::map<std::uintptr_t, std::unique_ptr<Persistent>>;
  return *calls;
}
std::atomic<int> persistent_count{0};
std::map<std::uintptr_t, std::unique_ptr<PersistentCall>>& calls_of_host() {
  static auto* calls = new std::map<std::uintptr_t, std::unique_ptr<PersistentCall>>;
  return *calls;
}
std::atomic<int> host_persistent_count{0};
std::vector<int> free_tags;
int next_tag = 0;
MPI_Comm private_self = MPI_COMM_NULL;

Persistent* find_persistent(MPI_Request request) {
  if (persistent_count.load(std::memory_order_acquire) == 0 || request == MPI_REQUEST_NULL) return nullptr;
  const std::lock_guard lock(persistent_mutex);
  const auto found = persistent_calls().find(widen<std::uintptr_t>(request));
  return found == persistent_calls().end() ? nullptr : found->second.get();
}

void give_back_tag(int tag) {
  const std::lock_guard lock(persistent_mutex);
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
  pmpi.Send(nullptr, 0, MPI_BYTE, 0, call->tag, private_self);
  drop_user(call);
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
int find_private_self() {
  {
    const std::lock_guard lock(persistent_mutex);
    if (private_self != MPI_COMM_NULL) return MPI_SUCCESS;
  }
  MPI_Comm made = MPI_COMM_NULL;
  const int error = make_private(MPI_COMM_SELF, false, &made);
  if (error != MPI_SUCCESS) return error;
  {
    const std::lock_guard lock(persistent_mutex);
    if (private_self == MPI_COMM_NULL) std::swap(private_self, made);
  }
  if (made != MPI_COMM_NULL) pmpi.Comm_free(&made);
  return MPI_SUCCESS;
}

int take_tag() {
  const std::lock_guard lock(persistent_mutex);
  if (free_tags.empty()) return next_tag++;
  const int tag = free_tags.back();
  free_tags.pop_back();
  return tag;
}

}  // namespace

int make_persistent(std::unique_ptr<PersistentCall> made, MPI_Request* request) {
  const Nested nested;
  int error = find_private_self();
  if (error != MPI_SUCCESS) return error;
  auto call = std::make_unique<Persistent>();
  call->tag = take_tag();
  error = pmpi.Recv_init(nullptr, 0, MPI_BYTE, 0, call->tag, private_self, &call->request);
  if (error != MPI_SUCCESS) {
    give_back_tag(call->tag);
    return error;
  }
  call->made = std::move(made);
  *request = call->request;
  const std::lock_guard lock(persistent_mutex);
  persistent_calls()[widen<std::uintptr_t>(*request)] = std::move(call);
  persistent_count.fetch_add(1, std::memory_order_release);
  return MPI_SUCCESS;
}

void keep_for_host(std::unique_ptr<PersistentCall> made, MPI_Request request) {
  if (made->holds_nothing()) return;
  const std::lock_guard lock(persistent_mutex);
  calls_of_host()[widen<std::uintptr_t>(request)] = std::move(made);
  host_persistent_count.store(static_cast<int>(calls_of_host().size()), std::memory_order_release);
}

bool has_persistent_calls() {
  return persistent_count.load(std::memory_order_relaxed) != 0;
}

void end_persistent_calls() {
  if (private_self != MPI_COMM_NULL && !has_persistent_calls()) pmpi.Comm_free(&private_self);
}

// Before the host starts it: is it one of its own persistent collectives, of which we keep something?
static void count_start_of_host(MPI_Request request) {
  if (host_persistent_count.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(persistent_mutex);
  const auto found = calls_of_host().find(widen<std::uintptr_t>(request));
  if (found != calls_of_host().end()) found->second->count_start();
}

int start(MPI_Request* request) {
  Persistent* call = request == nullptr ? nullptr : find_persistent(*request);
  if (call != nullptr) return start_persistent(call);
  if (request != nullptr) count_start_of_host(*request);
  return pmpi.Start(request);
}

int startall(int count, MPI_Request requests[]) {
  if (!has_persistent_calls()) {
    for (int i = 0; i < count; ++i) count_start_of_host(requests[i]);
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
  is_cancel_of_ours = request != nullptr && find_persistent(*request) != nullptr;
  const int error = is_cancel_of_ours ? MPI_SUCCESS : pmpi.Cancel(request);
  if (!std::exchange(is_cancel_of_ours, false)) return error;
  MPI_Request none = MPI_REQUEST_NULL;
  return pmpi.Cancel(&none);
}

int request_free(MPI_Request* request) {
  Persistent* call = request == nullptr ? nullptr : find_persistent(*request);
  if (call == nullptr) {
    std::unique_ptr<PersistentCall> kept;
    if (request != nullptr && host_persistent_count.load(std::memory_order_acquire) != 0) {
      const std::lock_guard lock(persistent_mutex);
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
    const std::lock_guard lock(persistent_mutex);
    persistent_calls().find(widen<std::uintptr_t>(*request))->second.release();
    persistent_calls().erase(widen<std::uintptr_t>(*request));
    persistent_count.fetch_sub(1, std::memory_order_release);
  }
  *request = MPI_REQUEST_NULL;
  return drop_user(call);
}

}  // namespace unisono::host::mpi
