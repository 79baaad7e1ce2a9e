// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send and its kin: four modes, blocking, non-blocking and persistent. MPI 4.1, sections 3.2, 3.4, 3.7,
// 3.9.
#include "adapter/messages/attached_buffers.h"
#include "adapter/messages/host_messaging.h"
#include "adapter/messages/message_arguments.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"

namespace unisono::adapter::messages {
namespace {

using Form = runtime::CallersPart::Form;

// A ready send is a standard one: its receive is there.
struct Standard {
  static constexpr Mode mode = Mode::standard;
  static constexpr Form form = Form::send;
  static constexpr auto blocking = &Functions::send;
  static constexpr auto started = &Functions::isend;
  static constexpr auto made = &Functions::send_init;
};
struct Ready {
  static constexpr Mode mode = Mode::standard;
  static constexpr Form form = Form::send;
  static constexpr auto blocking = &Functions::rsend;
  static constexpr auto started = &Functions::irsend;
  static constexpr auto made = &Functions::rsend_init;
};
struct Synchronous {
  static constexpr Mode mode = Mode::synchronous;
  static constexpr Form form = Form::synchronous_send;
  static constexpr auto blocking = &Functions::ssend;
  static constexpr auto started = &Functions::issend;
  static constexpr auto made = &Functions::ssend_init;
};
struct Buffered {
  static constexpr Mode mode = Mode::buffered;
  static constexpr Form form = Form::buffered_send;
  static constexpr auto blocking = &Functions::bsend;
  static constexpr auto started = &Functions::ibsend;
  static constexpr auto made = &Functions::bsend_init;
};

// Null: the MPI makes the call, or says what is wrong with it.
template <class Count>
const OwnComm* taken(const void* buffer, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     Data* data) {
  const OwnComm* own = own_comm(comm);
  const bool is_right = own != nullptr && is_destination(*own, to) && is_tag(tag);
  return is_right && describe_data(buffer, count, type, data) ? own : nullptr;
}

template <class As, class Count>
int send(const void* buffer, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  Data data;
  const OwnComm* own = taken(buffer, count, type, to, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.*As::blocking, buffer, count, type, to, tag, comm);
  if constexpr (As::mode == Mode::buffered) return send_buffered(*own, data, to, tag);
  if (As::mode == Mode::standard && has_gone_at_once(*own, data, to, tag)) return MPI_SUCCESS;
  // One of the table may be left to itself.
  if (As::mode == Mode::standard && data.bytes > runtime::usual_eager_bytes) {
    int error = MPI_SUCCESS;
    runtime::MessageRequest* request = new_send(*own, data, to, tag, As::mode, &error);
    return request == nullptr ? error : finish_send(request);
  }
  runtime::MessageRequest request;
  if (!begin_send(&request, *own, data, to, tag, As::mode)) return raise_on(comm, MPI_ERR_NO_MEM);
  return request.is_done_by_now() ? MPI_SUCCESS : wait_for(&request);
}

template <class As, class Count>
int start_send(const void* buffer, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* handle) {
  Data data;
  const OwnComm* own = handle == nullptr ? nullptr : taken(buffer, count, type, to, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.*As::started, buffer, count, type, to, tag, comm, handle);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = done_send;
  if constexpr (As::mode == Mode::buffered) {
    error = send_buffered(*own, data, to, tag);
  } else {
    request = new_send(*own, data, to, tag, As::mode, &error);
  }
  if (error == MPI_SUCCESS) *handle = handle_of<MPI_Request>(request);
  return error;
}

template <class As, class Count>
int make_send(const void* buffer, Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* handle) {
  Data data;
  const OwnComm* own = handle == nullptr ? nullptr : taken(buffer, count, type, to, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.*As::made, buffer, count, type, to, tag, comm, handle);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = make_persistent(*own, As::form, data, to, tag, &error);
  if (request != nullptr) *handle = handle_of<MPI_Request>(request);
  return error;
}

}  // namespace

void add_sends(UnisonoFunction* functions) {
#define UNISONO_SEND(Prefix, As)                                            \
  functions[unisono_slot_##Prefix##send] = erased(send<As, int>);           \
  functions[unisono_slot_##Prefix##send_c] = erased(send<As, MPI_Count>);   \
  functions[unisono_slot_##Prefix##send_init] = erased(make_send<As, int>); \
  functions[unisono_slot_##Prefix##send_init_c] = erased(make_send<As, MPI_Count>);
  functions[unisono_slot_Send] = erased(send<Standard, int>);
  functions[unisono_slot_Send_c] = erased(send<Standard, MPI_Count>);
  functions[unisono_slot_Send_init] = erased(make_send<Standard, int>);
  functions[unisono_slot_Send_init_c] = erased(make_send<Standard, MPI_Count>);
  functions[unisono_slot_Isend] = erased(start_send<Standard, int>);
  functions[unisono_slot_Isend_c] = erased(start_send<Standard, MPI_Count>);
  UNISONO_SEND(B, Buffered)
  UNISONO_SEND(S, Synchronous)
  UNISONO_SEND(R, Ready)
#undef UNISONO_SEND
  functions[unisono_slot_Ibsend] = erased(start_send<Buffered, int>);
  functions[unisono_slot_Ibsend_c] = erased(start_send<Buffered, MPI_Count>);
  functions[unisono_slot_Issend] = erased(start_send<Synchronous, int>);
  functions[unisono_slot_Issend_c] = erased(start_send<Synchronous, MPI_Count>);
  functions[unisono_slot_Irsend] = erased(start_send<Ready, int>);
  functions[unisono_slot_Irsend_c] = erased(start_send<Ready, MPI_Count>);
}

}  // namespace unisono::adapter::messages
