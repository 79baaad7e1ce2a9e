// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/own_requests.h"

#include <algorithm>
#include <utility>

#include "adapter/below/datatype.h"
#include "adapter/below/held_types.h"
#include "adapter/below/nesting.h"
#include "adapter/messages/attached_buffers.h"
#include "adapter/messages/message_arguments.h"
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

void hold_type(CallersPart* callers, MPI_Datatype type) {
  if (callers->kept != nullptr || is_predefined(type)) return;
  auto types = std::make_shared<HeldTypes>();
  types->hold(type);
  callers->kept = std::move(types);
}

// Nobody holds its handle any more.
void end_of_caller(MessageRequest* request) UNISONO_NOT_CHECKED {
  if (request->is_left) {
    layer->endpoint().abandon(request);
  } else {
    layer->endpoint().requests().give(request);
  }
}

void begin(CallersPart* callers, MPI_Comm comm) {
  callers->comm = widen<std::uintptr_t>(comm);
  callers->is_settled = false;
  callers->is_active = true;
  callers->error = MPI_SUCCESS;
}

// What is to be done with a receive's data once it has come. False, and all is as it was: there is no memory.
bool prepare_receive(MessageRequest* request, MPI_Comm comm, const Data& data) {
  CallersPart& callers = request->callers;
  std::unique_ptr<std::byte[]> copy;
  if (data.is_copied) {
    copy.reset(new (std::nothrow) std::byte[std::max<std::uint64_t>(data.bytes, 1)]);
    if (copy == nullptr) return false;
  }
  begin(&callers, comm);
  if (!data.is_copied) return true;
  callers.type = widen<std::uintptr_t>(data.type);
  callers.buffer = data.buffer;
  callers.count = data.count;
  hold_type(&callers, data.type);
  callers.copy = std::move(copy);
  return true;
}

void* buffer_of(const MessageRequest* request, const Data& data) {
  return data.is_copied ? static_cast<void*>(request->callers.copy.get()) : data.buffer;
}

}  // namespace

bool begin_send(MessageRequest* request, const OwnComm& own, const Data& data, int to, int tag, Mode mode) {
  CallersPart& callers = request->callers;
  begin(&callers, own.comm);
  if (data.is_copied || mode == Mode::buffered) {
    callers.copy = packed(data);
    if (callers.copy == nullptr) return false;
  }
  const void* buffer = callers.copy != nullptr ? callers.copy.get() : data.buffer;
  const BiasedGuard guard(layer->lock());
  layer->endpoint().send(request, own.context, buffer, data.bytes, to, tag, mode == Mode::synchronous);
  layer->look_after_unfinished();
  return true;
}

bool begin_receive(MessageRequest* request, const OwnComm& own, const Data& data, int from, int tag) {
  if (!prepare_receive(request, own.comm, data)) return false;
  const BiasedGuard guard(layer->lock());
  layer->endpoint().receive(request, own.context, buffer_of(request, data), data.bytes, own_source(from),
                            own_tag(tag));
  layer->look_after_unfinished();
  return true;
}

bool begin_receive_of(MessageRequest* request, runtime::WaitingMessage* message, MPI_Comm comm,
                      const Data& data) {
  if (!prepare_receive(request, comm, data)) return false;
  const BiasedGuard guard(layer->lock());
  layer->endpoint().receive_taken(request, message, buffer_of(request, data), data.bytes);
  layer->look_after_unfinished();
  return true;
}

namespace {

MessageRequest* or_error(MessageRequest* request, MPI_Comm comm, int* error) {
  if (request == nullptr) *error = raise_on(comm, MPI_ERR_NO_MEM);
  return request;
}

// With what `begin` starts on it; false: there was no memory for a copy.
template <class Begin>
MessageRequest* new_with_copy(MPI_Comm comm, int* error, Begin begin) {
  MessageRequest* request = new_request(comm, error);
  if (request == nullptr || begin(request)) return request;
  drop_request(request);
  return or_error(nullptr, comm, error);
}

}  // namespace

// One lock for all of a message whose data needs no copy.
MessageRequest* new_send(const OwnComm& own, const Data& data, int to, int tag, Mode mode, int* error) {
  if (data.is_copied || mode == Mode::buffered)
    return new_with_copy(own.comm, error, [&](MessageRequest* request) {
      return begin_send(request, own, data, to, tag, mode);
    });
  MessageRequest* request = nullptr;
  {
    const BiasedGuard guard(layer->lock());
    runtime::Endpoint& endpoint = layer->endpoint();
    if (mode == Mode::standard && endpoint.try_send(own.context, data.buffer, data.bytes, to, tag))
      return done_send;
    request = endpoint.requests().take();
    if (request != nullptr) {
      begin(&request->callers, own.comm);
      endpoint.send(request, own.context, data.buffer, data.bytes, to, tag, mode == Mode::synchronous);
      layer->look_after_unfinished();
    }
  }
  return or_error(request, own.comm, error);
}

MessageRequest* new_receive(const OwnComm& own, const Data& data, int from, int tag, int* error) {
  if (data.is_copied)
    return new_with_copy(own.comm, error, [&](MessageRequest* request) {
      return begin_receive(request, own, data, from, tag);
    });
  MessageRequest* request = nullptr;
  {
    const BiasedGuard guard(layer->lock());
    request = layer->endpoint().requests().take();
    if (request != nullptr) {
      begin(&request->callers, own.comm);
      layer->endpoint().receive(request, own.context, data.buffer, data.bytes, own_source(from),
                                own_tag(tag));
      layer->look_after_unfinished();
    }
  }
  return or_error(request, own.comm, error);
}

MessageRequest* new_request(MPI_Comm comm, int* error) {
  MessageRequest* request = nullptr;
  {
    const BiasedGuard guard(layer->lock());
    request = layer->endpoint().requests().take();
  }
  if (request == nullptr) *error = raise_on(comm, MPI_ERR_NO_MEM);
  return request;
}

void drop_request(MessageRequest* request) {
  const BiasedGuard guard(layer->lock());
  layer->endpoint().requests().give(request);
}

MessageRequest* done_send = nullptr;

void begin_own_requests() {
  layer->settle_by([](MessageRequest* request) {
    settle(request, MPI_STATUS_IGNORE);
    request->callers.kept.reset();
  });
  const BiasedGuard guard(layer->lock());
  done_send = layer->endpoint().requests().take();
  done_send->kind = MessageRequest::Kind::send;
  done_send->is_done = true;
  done_send->callers.comm = widen<std::uintptr_t>(MPI_COMM_SELF);
}

MessageRequest* new_receive_of_nothing(const OwnComm& own, int* error) {
  MessageRequest* request = new_request(own.comm, error);
  if (request == nullptr) return nullptr;
  begin(&request->callers, own.comm);
  request->kind = MessageRequest::Kind::receive;
  request->is_done = true;
  request->is_cancelled = false;
  request->bytes = request->message_bytes = 0;
  request->envelope = {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
  return request;
}

void Ended::give_back() {
  if (count_ == 0) return;
  const BiasedGuard guard(layer->lock());
  while (count_ != 0) end_of_caller(requests_[--count_]);
}

int finish_send(MessageRequest* request) {
  if (request == done_send) return MPI_SUCCESS;
  const int error = wait_for(request);
  if (error != MPI_SUCCESS) return error;
  const BiasedGuard guard(layer->lock());
  end_of_caller(request);
  return MPI_SUCCESS;
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
    if (!request->is_left) callers.copy.reset();
    if (callers.form == Form::once) callers.kept.reset();
  }
  if (!is_receive) {
    const MessageRequest* send = callers.beside != nullptr ? callers.beside : request;
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, send->is_cancelled);
  } else if (request->is_cancelled) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
  } else {
    set_status(status, request->envelope.source, request->envelope.tag,
               counts_what_was_sent ? request->message_bytes : bytes);
  }
  return callers.error;
}

bool is_inactive(const MessageRequest* request) {
  return request->callers.form != Form::once && !request->callers.is_active;
}

int complete(MPI_Request* handle, MPI_Status* status, Ended* ended) {
  MessageRequest* request = request_of(*handle);
  if (request == done_send) {
    *handle = MPI_REQUEST_NULL;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const int error = settle(request, status);
  if (request->callers.beside != nullptr) ended->add(std::exchange(request->callers.beside, nullptr));
  if (request->callers.form != Form::once) {
    request->callers.is_active = false;
    return error;
  }
  ended->add(request);
  *handle = MPI_REQUEST_NULL;
  return error;
}

int raise_on(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return error;
  const Outside outside;
  pmpi.Comm_call_errhandler(comm, error);
  return error;
}

int raise_of_receive(MPI_Comm comm, std::uint32_t context, int error) {
  const OwnComm* still = own_comm(comm);
  return still == nullptr || still->context != context ? error : raise_on(comm, error);
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
  const BiasedGuard guard(layer->lock());
  layer->endpoint().hold(own.context);
  return request;
}

namespace {

bool may_be_left(const Data& data) {
  const BiasedGuard guard(layer->lock());
  return layer->endpoint().may_leave(data.bytes);
}

// What is left to itself needs a request of its own: the program may start the persistent one again
// meanwhile.
int start_beside(MessageRequest* request, const OwnComm& own, const Data& data) {
  CallersPart& callers = request->callers;
  int error = MPI_SUCCESS;
  MessageRequest* send = new_send(own, data, callers.partner, callers.tag, Mode::standard, &error);
  if (send == nullptr) return error;
  begin(&callers, own.comm);
  callers.beside = send == done_send ? nullptr : send;
  request->kind = MessageRequest::Kind::send;
  request->is_cancelled = request->is_left = false;
  request->is_done = true;
  return MPI_SUCCESS;
}

}  // namespace

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
  if (callers.form == Form::buffered_send) {
    const int error = send_buffered(own, data, partner, tag);
    if (error != MPI_SUCCESS) return error;
    begin(&callers, comm);
    request->kind = MessageRequest::Kind::send;
    request->is_cancelled = false;
    request->is_done = true;
    return MPI_SUCCESS;
  }
  if (callers.form == Form::send && may_be_left(data)) return start_beside(request, own, data);
  callers.is_active = true;
  bool is_begun = false;
  if (callers.form == Form::receive) {
    is_begun = begin_receive(request, own, data, partner, tag);
  } else {
    const Mode mode = callers.form == Form::synchronous_send ? Mode::synchronous : Mode::standard;
    is_begun = begin_send(request, own, data, partner, tag, mode);
  }
  if (is_begun) return MPI_SUCCESS;
  callers.is_active = false;
  return raise_on(comm, MPI_ERR_NO_MEM);
}

int free_own(MPI_Request* handle) {
  MessageRequest* request = request_of(*handle);
  *handle = MPI_REQUEST_NULL;
  free_begun(request);
  return MPI_SUCCESS;
}

void free_begun(MessageRequest* request) {
  if (request == done_send) return;
  // What ends with it may be the program's, which must not be called under a lock.
  const std::shared_ptr<void> kept = is_inactive(request) ? std::move(request->callers.kept) : nullptr;
  const BiasedGuard guard(layer->lock());
  if (request->callers.beside != nullptr)
    layer->endpoint().abandon(std::exchange(request->callers.beside, nullptr));
  if (request->callers.form != Form::once) layer->endpoint().drop(request->callers.context);
  if (is_inactive(request)) {
    layer->endpoint().release(request);
  } else {
    layer->endpoint().abandon(request);
  }
}

int cancel_own(MPI_Request* handle) {
  MessageRequest* request = request_of(*handle);
  const BiasedGuard guard(layer->lock());
  const bool is_beside = request->kind == MessageRequest::Kind::send && request->callers.beside != nullptr;
  layer->endpoint().cancel(is_beside ? request->callers.beside : request);
  return MPI_SUCCESS;
}

}  // namespace unisono::adapter::messages
