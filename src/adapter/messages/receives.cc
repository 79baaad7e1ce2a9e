// SPDX-License-Identifier: BSD-3-Clause
// MPI_Recv, MPI_Irecv and MPI_Recv_init, and receives of messages that a probe has taken. MPI 4.1, sections
// 3.2.4, 3.7, 3.8.3, 3.9.
#include "adapter/messages/host_messaging.h"
#include "adapter/messages/message_arguments.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"

namespace unisono::adapter::messages {
namespace {

using Form = runtime::CallersPart::Form;

// Null: the MPI makes the call, or says what is wrong with it.
template <class Count>
const OwnComm* taken(void* buffer, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     Data* data) {
  const OwnComm* own = own_comm(comm);
  const bool is_right = own != nullptr && is_source_asked_for(*own, from) && is_tag_asked_for(tag);
  return is_right && describe_data(buffer, count, type, data) ? own : nullptr;
}

int finish_blocking(runtime::MessageRequest* request, MPI_Comm comm, MPI_Status* status) {
  if (!request->is_done_by_now()) {
    if (const int error = wait_for(request); error != MPI_SUCCESS) return error;
  }
  const int error = settle(request, status);
  return error == MPI_SUCCESS ? error : raise_of_receive(comm, request->envelope.context, error);
}

template <class Count>
int receive(void* buffer, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Status* status) {
  Data data;
  const OwnComm* own = is_missing(status) ? nullptr : taken(buffer, count, type, from, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.recv, buffer, count, type, from, tag, comm, status);
  runtime::MessageRequest request;
  if (!begin_receive(&request, *own, data, from, tag)) return raise_on(comm, MPI_ERR_NO_MEM);
  return finish_blocking(&request, comm, status);
}

template <class Count>
int start_receive(void* buffer, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* handle) {
  Data data;
  const OwnComm* own = handle == nullptr ? nullptr : taken(buffer, count, type, from, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.irecv, buffer, count, type, from, tag, comm, handle);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = new_receive(*own, data, from, tag, &error);
  if (request != nullptr) *handle = handle_of<MPI_Request>(request);
  return error;
}

template <class Count>
int make_receive(void* buffer, Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request* handle) {
  Data data;
  const OwnComm* own = handle == nullptr ? nullptr : taken(buffer, count, type, from, tag, comm, &data);
  if (own == nullptr) return call_host(pmpi.recv_init, buffer, count, type, from, tag, comm, handle);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = make_persistent(*own, Form::receive, data, from, tag, &error);
  if (request != nullptr) *handle = handle_of<MPI_Request>(request);
  return error;
}

// --- Of messages that a probe has taken (probes.cc): a request holds each ---

// Arguments that break MPI's rules. The MPI knows nothing of our message, which waits for its next receive:
// it says what is wrong with one from nobody, which tells of itself at `told`. Open MPI calls the handler of
// the message's communicator, others that of messages without one.
template <class Taken, class Plain, class Count, class Place>
int refuse_taken([[maybe_unused]] const Taken& receive_taken, [[maybe_unused]] const Plain& receive,
                 void* buffer, Count count, MPI_Datatype type, MPI_Message message, Place* told) {
  const runtime::MessageRequest* holder = request_of(message);
  if (!holder->is_taken()) return raise_on(MPI_COMM_WORLD, MPI_ERR_REQUEST);
#if defined(UNISONO_FAMILY_OPENMPI)
  auto comm = narrow<MPI_Comm>(holder->callers.comm);
  if (own_comm(comm) == nullptr) comm = MPI_COMM_SELF;  // the program has freed it
  const int error = call_host(receive, buffer, count, type, MPI_PROC_NULL, 0, comm, told);
#else
  MPI_Message nobodys = MPI_MESSAGE_NO_PROC;
  const int error = call_host(receive_taken, buffer, count, type, &nobodys, told);
#endif
  if (error != MPI_SUCCESS) return error;
  if constexpr (std::is_same_v<Place, MPI_Request>) {
    if (told != nullptr) pmpi.Request_free(told);
  }
  return MPI_ERR_BUFFER;
}

template <class Count>
int receive_taken(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  Data data;
  if (!is_on() || message == nullptr || !is_own(*message))
    return call_host(pmpi.mrecv, buffer, count, type, message, status);
  runtime::MessageRequest* holder = request_of(*message);
  if (!holder->is_taken() || is_missing(status) || !describe_data(buffer, count, type, &data))
    return refuse_taken(pmpi.mrecv, pmpi.recv, buffer, count, type, *message, status);
  const auto comm = narrow<MPI_Comm>(holder->callers.comm);
  runtime::MessageRequest request;
  if (!begin_receive_of(&request, static_cast<runtime::WaitingMessage*>(holder->callers.buffer), comm, data))
    return raise_on(comm, MPI_ERR_NO_MEM);
  drop_request(holder);
  *message = MPI_MESSAGE_NULL;
  return finish_blocking(&request, comm, status);
}

template <class Count>
int start_receive_taken(void* buffer, Count count, MPI_Datatype type, MPI_Message* message,
                        MPI_Request* handle) {
  Data data;
  if (!is_on() || message == nullptr || !is_own(*message))
    return call_host(pmpi.imrecv, buffer, count, type, message, handle);
  // The message's holder becomes the receive.
  runtime::MessageRequest* request = request_of(*message);
  if (!request->is_taken() || handle == nullptr || !describe_data(buffer, count, type, &data))
    return refuse_taken(pmpi.imrecv, pmpi.irecv, buffer, count, type, *message, handle);
  const auto comm = narrow<MPI_Comm>(request->callers.comm);
  if (!begin_receive_of(request, static_cast<runtime::WaitingMessage*>(request->callers.buffer), comm, data))
    return raise_on(comm, MPI_ERR_NO_MEM);
  *message = MPI_MESSAGE_NULL;
  *handle = handle_of<MPI_Request>(request);
  return MPI_SUCCESS;
}

}  // namespace

void add_receives(UnisonoFunction* functions) {
  functions[unisono_slot_Recv] = erased(receive<int>);
  functions[unisono_slot_Recv_c] = erased(receive<MPI_Count>);
  functions[unisono_slot_Irecv] = erased(start_receive<int>);
  functions[unisono_slot_Irecv_c] = erased(start_receive<MPI_Count>);
  functions[unisono_slot_Recv_init] = erased(make_receive<int>);
  functions[unisono_slot_Recv_init_c] = erased(make_receive<MPI_Count>);
  functions[unisono_slot_Mrecv] = erased(receive_taken<int>);
  functions[unisono_slot_Mrecv_c] = erased(receive_taken<MPI_Count>);
  functions[unisono_slot_Imrecv] = erased(start_receive_taken<int>);
  functions[unisono_slot_Imrecv_c] = erased(start_receive_taken<MPI_Count>);
}

}  // namespace unisono::adapter::messages
