// SPDX-License-Identifier: BSD-3-Clause
// From a call that does not block to its request. See requests.h.
#include "adapter/requests/pending.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/marks.h"
#include "adapter/below/neighbors.h"
#include "adapter/below/nesting.h"
#include "adapter/requests/failures.h"
#include "adapter/requests/host_calls.h"
#include "adapter/requests/host_part.h"
#include "adapter/requests/requests.h"
#include "base/mutex.h"

namespace unisono::adapter {

using runtime::pickup_line;
using runtime::pickup_places;

std::array<runtime::Pickup, pickup_places> pickups;

namespace {

// One call between its start and the end of its request, whichever of the host and the runtime sees it last.
struct Pending {
  enum State : std::uint8_t { neither, has_request, has_ended };
  std::atomic<std::uint8_t> state{neither};
  std::atomic<int> users{0};
  std::atomic<int> parts{1};  // that have not ended
  int place = -1;             // among the pickups; -1: none
  // Of a pending with a place it stays for the next call, unless the host has completed it.
  MPI_Request request = MPI_REQUEST_NULL;
  std::atomic<bool> is_request_gone{false};
  MPI_Comm comm = MPI_COMM_NULL;
  HeldTypes held_types;
  std::vector<host::Datatype> held_lists;
  std::unique_ptr<StagedCall> staged;  // where the call works on copies
  Failure failure;
  bool has_status = false;  // of a receive
  MPI_Status status{};
};

Mutex spare_mutex;
// For reuse; never given back. Those with a place among the pickups, and others.
std::vector<Pending*> spare UNISONO_GUARDED_BY(spare_mutex);
std::vector<Pending*> spare_with_place UNISONO_GUARDED_BY(spare_mutex);
int places_made UNISONO_GUARDED_BY(spare_mutex) = 0;

Pending* take_spare(std::vector<Pending*>* from) {
  if (from->empty()) return nullptr;
  Pending* pending = from->back();
  from->pop_back();
  return pending;
}

// Before the next call opens it no request may lead here: the host makes handles anew.
void clear_place(std::size_t place) {
  pickup_line.requests[place].store(0, std::memory_order_release);
  pickups[place].reset();
}

enum class Wants : std::uint8_t { nothing, place };
Pending* take_pending(Wants wants = Wants::nothing) {
  Pending* pending = nullptr;
  {
    const LockGuard lock(spare_mutex);
    if (wants == Wants::place) pending = take_spare(&spare_with_place);
    if (pending == nullptr && wants == Wants::place && places_made < static_cast<int>(pickup_places)) {
      pending = new Pending;
      pending->place = places_made++;
    }
    if (pending == nullptr) pending = take_spare(&spare);
  }
  if (pending == nullptr) pending = new Pending;
  if (pending->place >= 0) clear_place(static_cast<std::size_t>(pending->place));
  pending->state.store(Pending::neither, std::memory_order_relaxed);
  pending->users.store(2, std::memory_order_relaxed);  // the request, and the call
  pending->parts.store(1, std::memory_order_relaxed);
  pending->has_status = false;
  return pending;
}

void drop_user(Pending* pending) {
  if (pending->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  drop_failure(&pending->failure);
  if (pending->is_request_gone.exchange(false, std::memory_order_relaxed))
    pending->request = MPI_REQUEST_NULL;
  const LockGuard lock(spare_mutex);
  (pending->place < 0 ? spare : spare_with_place).push_back(pending);
}

int query(void* state, MPI_Status* status) {
  auto* pending = static_cast<Pending*>(state);
  tell_failure(pending->request, pending->failure);
  if (pending->has_status) {
    const int error = std::exchange(*status, pending->status).MPI_ERROR;
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
  }
  set_nothing(status);
  return MPI_SUCCESS;
}
int request_is_gone(void* state) {
  auto* pending = static_cast<Pending*>(state);
  pending->is_request_gone.store(true, std::memory_order_relaxed);
  drop_user(pending);
  return MPI_SUCCESS;
}
// Collectives cannot be cancelled, but what this returns not every host hands on: cancel() does.
thread_local bool is_cancel_of_ours = false;
int refuse_cancel(void*, int) {
  is_cancel_of_ours = true;
  return MPI_SUCCESS;
}

// Its request is not to be found by its handle any more. True where the result was picked up.
bool leave_place(const Pending* pending) {
  if (pending->place < 0) return false;
  const auto place = static_cast<std::size_t>(pending->place);
  pickup_line.requests[place].store(0, std::memory_order_release);
  return pickups[place].close() == runtime::Pickup::State::picked_up;
}

void call_has_ended(void* context, int error) {
  auto* pending = static_cast<Pending*>(context);
  note_failure(&pending->failure, pending->comm, error);
  if (pending->parts.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  pending->staged.reset();
  pending->held_types.release();
  if (leave_place(pending)) {
    drop_user(pending);  // the request's part: the host hears nothing
  } else {
    const auto before = pending->state.exchange(Pending::has_ended, std::memory_order_acq_rel);
    if (before == Pending::has_request) pmpi.Grequest_complete(pending->request);
  }
  drop_user(pending);
}

// The program may free its types while the call is under way. Lists of them become the call's own.
int hold_types(runtime::Call* call, Pending* pending) {
  for (host::Datatype type :
       {call->send_type, call->recv_type, call->send_blocks.type, call->recv_blocks.type})
    pending->held_types.hold(adapter::native(type));
  pending->held_lists.clear();
  if (call->recv_blocks.types == nullptr) return MPI_SUCCESS;
  const MPI_Comm comm = adapter::native(call->comm);
  NeighborCounts lengths;
  int error = MPI_SUCCESS;
  if (is_neighborhood(call->operation)) {
    error = count_neighbors(comm, &lengths);
  } else {
    error = pmpi.Comm_size(comm, &lengths.in);
    lengths.out = lengths.in;
  }
  if (error != MPI_SUCCESS) return error;
  pending->held_lists.reserve(static_cast<std::size_t>(lengths.in) + static_cast<std::size_t>(lengths.out));
  const auto hold_list = [&](const host::Datatype** list, int length) {
    if (*list == nullptr) return;
    const std::size_t first = pending->held_lists.size();
    for (int i = 0; i < length; ++i) {
      pending->held_lists.push_back((*list)[i]);
      pending->held_types.hold(adapter::native((*list)[i]));
    }
    *list = pending->held_lists.data() + first;
  };
  hold_list(&call->send_blocks.types, lengths.out);
  hold_list(&call->recv_blocks.types, lengths.in);
  return MPI_SUCCESS;
}

// From now on it is found by its handle, where a result is going to be picked up.
void enter_place(const Pending& pending) {
  if (pending.place < 0) return;
  const auto place = static_cast<std::size_t>(pending.place);
  if (!pickups[place].is_open()) return;
  pickup_line.null_request.store(widen<std::uintptr_t>(MPI_REQUEST_NULL), std::memory_order_relaxed);
  pickup_line.requests[place].store(widen<std::uintptr_t>(pending.request), std::memory_order_release);
  pickup_line.are_any.store(true, std::memory_order_relaxed);
}

// The call is under way, or over already.
int make_request(Pending* pending, MPI_Request* request) {
  const int error =
      pending->request != MPI_REQUEST_NULL
          ? MPI_SUCCESS
          : pmpi.Grequest_start(query, request_is_gone, refuse_cancel, pending, &pending->request);
  if (error != MPI_SUCCESS) {
    pending->request = MPI_REQUEST_NULL;
    while (pending->state.load(std::memory_order_acquire) != Pending::has_ended) {
      runtime::make_progress();
      look_at_host_calls();
    }
    drop_user(pending);
    return error;
  }
  *request = pending->request;
  enter_place(*pending);
  const auto before = pending->state.exchange(Pending::has_request, std::memory_order_acq_rel);
  if (before == Pending::has_ended) pmpi.Grequest_complete(pending->request);
  return MPI_SUCCESS;
}

bool start_taken(const runtime::Call& call, const runtime::Completion& completion, int* error) {
  runtime::HostPart* host = nullptr;
  const auto outcome = runtime::start_collective(call, completion, can_start(call) ? &host : nullptr);
  return is_taken(outcome, host, error);
}

}  // namespace

// Where the program waits for no message the status says nothing.
void set_nothing(MPI_Status* status) {
  pmpi.Status_set_elements(status, MPI_BYTE, 0);
  pmpi.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
}

void end_what_was_picked_up() {
  if (pickup_line.picked_up.load(std::memory_order_relaxed) != 0) runtime::make_progress();
}

bool start_request(const runtime::Call& call, MPI_Request* request, int* error) {
  const Nested nested;
  end_what_was_picked_up();
  Pending* pending = take_pending(Wants::place);
  pending->comm = adapter::native(call.comm);
  runtime::Call held = call;
  held.may_outlive = is_of_session(adapter::native(call.comm));
  *error = hold_types(&held, pending);
  if (*error == MPI_SUCCESS) {
    pending->staged = stage_if_needed(held);
  } else {
    runtime::left_to_host(call.operation, runtime::NativeReason::datatype);
  }
  if (pending->staged != nullptr)
    held = pending->staged->call();
  else if (pending->place >= 0)
    held.pickup = &pickups[static_cast<std::size_t>(pending->place)];
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

int start_both(std::shared_ptr<void> kept, const Start& receive, const Start& send, MPI_Request* request) {
  HostCall incoming, outgoing;
  int error = receive(&incoming.request);
  if (error != MPI_SUCCESS) return error;
  error = send(&outgoing.request);
  if (error != MPI_SUCCESS) {
    pmpi.Cancel(&incoming.request);
    pmpi.Wait(&incoming.request, MPI_STATUS_IGNORE);
    return error;
  }
  Pending* pending = take_pending();
  pending->comm = MPI_COMM_SELF;  // as above
  pending->parts.store(2, std::memory_order_relaxed);
  pending->has_status = true;
  incoming.status = &pending->status;
  outgoing.kept = std::move(kept);
  for (HostCall* call : {&incoming, &outgoing}) {
    call->completion = {call_has_ended, pending};
    look_after(std::move(*call));
  }
  return make_request(pending, request);
}

void end_kept_requests() {
  std::vector<Pending*> kept;
  {
    const LockGuard lock(spare_mutex);
    kept.swap(spare_with_place);
  }
  for (Pending* pending : kept) {
    pending->users.store(1, std::memory_order_relaxed);
    if (pending->request != MPI_REQUEST_NULL) {
      MPI_Request request = pending->request;
      pmpi.Grequest_complete(request);
      pmpi.Wait(&request, MPI_STATUS_IGNORE);
    } else {
      drop_user(pending);
    }
  }
}

bool take_refused_cancel() {
  return std::exchange(is_cancel_of_ours, false);
}

}  // namespace unisono::adapter
