// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/own_requests.h"

#include <algorithm>
#include <utility>

#include "adapter/below/datatype.h"
#include "adapter/below/held_types.h"
#include "adapter/below/nesting.h"
#include "runtime/runtime.h"

namespace unisono::adapter::messages {

using runtime::CallersPart;
using runtime::MessageRequest;
using Form = CallersPart::Form;

namespace {

Data data_of(const MessageRequest& request) {
  return {.buffer = request.callers.buffer,
          .count = request.callers.count,
          .bytes = request.bytes,
          .type = narrow<MPI_Datatype>(request.callers.type),
          .is_copied = request.callers.copy != nullptr};
}

int own_source(int source) {
  return source == MPI_ANY_SOURCE ? matching::any_source : source;
}
int own_tag(int tag) {
  return tag == MPI_ANY_TAG ? matching::any_tag : tag;
}

void hold_type(CallersPart* callers, MPI_Datatype type) {
  if (callers->kept != nullptr || is_predefined(type)) return;
  auto types = std::make_shared<HeldTypes>();
  types->hold(type);
  callers->kept = std::move(types);
}

// What is to be done with a receive's data once it has come.
bool prepare_receive(MessageRequest* request, MPI_Comm comm, const Data& data) {
  CallersPart& callers = request->callers;
  callers.comm = widen<std::uintptr_t>(comm);
  callers.type = widen<std::uintptr_t>(data.type);
  callers.buffer = data.buffer;
  callers.count = data.count;
  callers.is_settled = false;
  callers.is_active = true;
  callers.error = MPI_SUCCESS;
  if (!data.is_copied) return true;
  hold_type(&callers, data.type);
  callers.copy.reset(new (std::nothrow) std::byte[std::max<std::uint64_t>(data.bytes, 1)]);
  return callers.copy != nullptr;
}

void* buffer_of(const MessageRequest* request, const Data& data) {
  return data.is_copied ? static_cast<void*>(request->callers.copy.get()) : data.buffer;
}

}  // namespace

bool begin_send(MessageRequest* request, const OwnComm& own, const Data& data, int to, int tag, Mode mode) {
  CallersPart& callers = request->callers;
  callers.comm = widen<std::uintptr_t>(own.comm);
  callers.is_settled = false;
  callers.error = MPI_SUCCESS;
  callers.is_active = true;
  if (data.is_copied || mode == Mode::buffered) {
    callers.copy = packed(data);
    if (callers.copy == nullptr) return false;
  }
  const void* buffer = callers.copy != nullptr ? callers.copy.get() : data.buffer;
  const SpinGuard guard(layer->lock());
  layer->endpoint().send(request, own.context, buffer, data.bytes, to, tag, mode == Mode::synchronous);
  layer->look_after_unfinished();
  return true;
}

bool begin_receive(MessageRequest* request, const OwnComm& own, const Data& data, int from, int tag) {
  if (!prepare_receive(request, own.comm, data)) return false;
  const SpinGuard guard(layer->lock());
  layer->endpoint().receive(request, own.context, buffer_of(request, data), data.bytes, own_source(from),
                            own_tag(tag));
  layer->look_after_unfinished();
  return true;
}

bool begin_receive_of(MessageRequest* request, runtime::WaitingMessage* message, MPI_Comm comm,
                      const Data& data) {
  if (!prepare_receive(request, comm, data)) return false;
  const SpinGuard guard(layer->lock());
  layer->endpoint().receive_taken(request, message, buffer_of(request, data), data.bytes);
  layer->look_after_unfinished();
  return true;
}

MessageRequest* new_request(MPI_Comm comm, int* error) {
  MessageRequest* request = nullptr;
  {
    const SpinGuard guard(layer->lock());
    request = layer->endpoint().requests().take();
  }
  if (request == nullptr) *error = raise_on(comm, MPI_ERR_NO_MEM);
  return request;
}

void drop_request(MessageRequest* request) {
  const SpinGuard guard(layer->lock());
  layer->endpoint().requests().give(request);
}

MessageRequest* done_send = nullptr;

void begin_own_requests() {
  layer->settle_by([](MessageRequest* request) {
    settle(request, MPI_STATUS_IGNORE);
    request->callers.kept.reset();
  });
  const SpinGuard guard(layer->lock());
  done_send = layer->endpoint().requests().take();
  done_send->kind = MessageRequest::Kind::send;
  done_send->is_done = true;
  done_send->callers.comm = widen<std::uintptr_t>(MPI_COMM_SELF);
}

bool begin_nothing(MessageRequest* request, const OwnComm& own) {
  request->kind = MessageRequest::Kind::receive;
  request->is_done = true;
  request->envelope = {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
  request->callers.comm = widen<std::uintptr_t>(own.comm);
  return true;
}

int wait_for(MessageRequest* request) {
  if (is_over(request)) return MPI_SUCCESS;
  const Nested nested;
  try {
    layer->wait_until([request] { return is_over(request); });
  } catch (const runtime::PeerLost& lost) {
    return raise_lost_peer(narrow<MPI_Comm>(request->callers.comm), lost);
  }
  return MPI_SUCCESS;
}

bool is_over_by_now(MessageRequest* request) {
  if (is_over(request)) return true;
  return layer->is_over_by_now([request] { return is_over(request); });
}

void let_others_go_on_now_and_then() {
  static thread_local unsigned calls = 0;
  constexpr unsigned calls_per_progress = 16;
  if (++calls % calls_per_progress != 0) return;
  const Nested nested;
  layer->let_others_go_on();
}

int settle(MessageRequest* request, MPI_Status* status) {
  CallersPart& callers = request->callers;
  const bool is_receive = request->kind == MessageRequest::Kind::receive;
  const std::uint64_t bytes = std::min(request->bytes, request->message_bytes);
  if (!callers.is_settled) {
    callers.is_settled = true;
    if (is_receive && !request->is_cancelled) {
      if (callers.copy != nullptr) callers.error = unpack(callers.copy.get(), bytes, data_of(*request));
      if (request->is_truncated()) callers.error = MPI_ERR_TRUNCATE;
    }
    callers.copy.reset();
    if (callers.form == Form::once) callers.kept.reset();
  }
  if (!is_receive) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, request->is_cancelled);
  } else if (request->is_cancelled) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
  } else {
    set_status(status, request->envelope.source, request->envelope.tag, bytes);
  }
  return callers.error;
}

bool is_inactive(const MessageRequest* request) {
  return request->callers.form != Form::once && !request->callers.is_active;
}

int complete(MPI_Request* handle, MPI_Status* status) {
  MessageRequest* request = request_of(*handle);
  if (request == done_send) {
    *handle = MPI_REQUEST_NULL;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const int error = settle(request, status);
  if (request->callers.form != Form::once) {
    request->callers.is_active = false;
    return error;
  }
  if (request->callers.beside != nullptr) drop_request(request->callers.beside);
  drop_request(request);
  *handle = MPI_REQUEST_NULL;
  return error;
}

int raise_on(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return error;
  const Outside outside;
  pmpi.Comm_call_errhandler(comm, error);
  return error;
}

int raise_of(const MessageRequest* request, int error) {
  if (error == MPI_SUCCESS) return error;
  const auto comm = narrow<MPI_Comm>(request->callers.comm);
  const OwnComm* own = own_comm(comm);
  // The program may have freed it meanwhile, and have another one by the same handle.
  return own == nullptr ? error : raise_on(comm, error);
}

int raise_lost_peer(MPI_Comm comm, const runtime::PeerLost& lost) {
  const Outside outside;
  return runtime::end_with_lost_peer(widen<host::Comm>(comm), lost.rank, lost.process_id);
}

MessageRequest* make_persistent(const OwnComm& own, Form form, const Data& data, int partner, int tag,
                                int* error) {
  MessageRequest* request = new_request(own.comm, error);
  if (request == nullptr) return nullptr;
  CallersPart& callers = request->callers;
  callers.form = form;
  callers.is_active = false;
  callers.comm = widen<std::uintptr_t>(own.comm);
  callers.type = widen<std::uintptr_t>(data.type);
  callers.buffer = data.buffer;
  callers.count = data.count;
  callers.partner = partner;
  callers.tag = tag;
  callers.context = own.context;
  hold_type(&callers, data.type);
  const SpinGuard guard(layer->lock());
  layer->endpoint().hold(own.context);
  return request;
}

int start_own(MPI_Request* handle) {
  MessageRequest* request = request_of(*handle);
  CallersPart& callers = request->callers;
  const auto comm = narrow<MPI_Comm>(callers.comm);
  if (callers.form == Form::once || callers.is_active) return raise_on(comm, MPI_ERR_REQUEST);
  // The program may have freed the communicator: the request goes on.
  const OwnComm own{.comm = comm, .context = callers.context};
  Data data;
  if (!describe_data(callers.buffer, static_cast<MPI_Count>(callers.count),
                     narrow<MPI_Datatype>(callers.type), &data))
    return raise_on(comm, MPI_ERR_TYPE);
  const int partner = callers.partner, tag = callers.tag;
  callers.is_active = true;
  bool is_begun = false;
  if (callers.form == Form::receive) {
    is_begun = begin_receive(request, own, data, partner, tag);
  } else {
    const Mode mode = callers.form == Form::synchronous_send ? Mode::synchronous
                      : callers.form == Form::buffered_send  ? Mode::buffered
                                                             : Mode::standard;
    is_begun = begin_send(request, own, data, partner, tag, mode);
  }
  if (is_begun) return MPI_SUCCESS;
  callers.is_active = false;
  return raise_on(comm, MPI_ERR_NO_MEM);
}

int free_own(MPI_Request* handle) {
  MessageRequest* request = request_of(*handle);
  *handle = MPI_REQUEST_NULL;
  if (request == done_send) return MPI_SUCCESS;
  // What ends with it may be the program's, which must not be called under a lock.
  const std::shared_ptr<void> kept = is_inactive(request) ? std::move(request->callers.kept) : nullptr;
  const SpinGuard guard(layer->lock());
  if (request->callers.beside != nullptr) layer->endpoint().abandon(request->callers.beside);
  if (request->callers.form != Form::once) layer->endpoint().drop(request->callers.context);
  if (is_inactive(request)) {
    layer->endpoint().release(request);
  } else {
    layer->endpoint().abandon(request);
  }
  return MPI_SUCCESS;
}

int cancel_own(MPI_Request* handle) {
  MessageRequest* request = request_of(*handle);
  const SpinGuard guard(layer->lock());
  layer->endpoint().cancel(request);
  return MPI_SUCCESS;
}

}  // namespace unisono::adapter::messages
