// SPDX-License-Identifier: BSD-3-Clause
// MPI_Sendrecv, MPI_Isendrecv, and those that replace. MPI 4.1, sections 3.10 and 3.11.
#include <memory>
#include <utility>

#include "adapter/messages/host_messaging.h"
#include "adapter/messages/message_arguments.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"

namespace unisono::adapter::messages {
namespace {

// One end of the call. MPI_PROC_NULL is a partner that there is not.
struct End {
  Data data;
  int partner = MPI_PROC_NULL, tag = 0;
  bool is_there() const { return partner != MPI_PROC_NULL; }
};

template <class Count>
bool describe_end(const OwnComm& own, bool is_send, const void* buffer, Count count, MPI_Datatype type,
                  int partner, int tag, End* end) {
  end->partner = partner;
  end->tag = tag;
  const bool is_partner = partner == MPI_PROC_NULL ||
                          (is_send ? is_destination(own, partner) : is_source_asked_for(own, partner));
  return is_partner && (is_send ? is_tag(tag) : is_tag_asked_for(tag)) &&
         describe_data(buffer, count, type, &end->data);
}

// The receive comes first, so that a message to oneself finds it.
int exchange(const OwnComm& own, const End& out, const End& in, MPI_Status* status) {
  runtime::MessageRequest receive, send;
  if (in.is_there() && !begin_receive(&receive, own, in.data, in.partner, in.tag))
    return raise_on(own.comm, MPI_ERR_NO_MEM);
  if (out.is_there()) {
    // A receive that has begun must end before its place does: the copy is made first where one is needed.
    if (!begin_send(&send, own, out.data, out.partner, out.tag, Mode::standard)) {
      if (in.is_there()) wait_for(&receive);
      return raise_on(own.comm, MPI_ERR_NO_MEM);
    }
    if (!send.is_done_by_now()) {
      if (const int error = wait_for(&send); error != MPI_SUCCESS) return error;
    }
  }
  if (!in.is_there()) {
    set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return MPI_SUCCESS;
  }
  if (!receive.is_done_by_now()) {
    if (const int error = wait_for(&receive); error != MPI_SUCCESS) return error;
  }
  return raise_on(own.comm, settle(&receive, status));
}

template <class Count>
int sendrecv(const void* out, Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
             Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  const OwnComm* own = own_comm(comm);
  End send, receive;
  if (own == nullptr || is_missing(status) ||
      !describe_end(*own, true, out, out_count, out_type, to, out_tag, &send) ||
      !describe_end(*own, false, in, in_count, in_type, from, in_tag, &receive)) {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.sendrecv.small(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                                 comm, status);
    } else {
      if (pmpi.sendrecv.large != nullptr)
        return pmpi.sendrecv.large(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                                   comm, status);
      const Elements from_here(out_count, out_type), to_here(in_count, in_type);
      if (from_here.error != MPI_SUCCESS) return from_here.error;
      if (to_here.error != MPI_SUCCESS) return to_here.error;
      return pmpi.sendrecv.small(out, from_here.count, from_here.type, to, out_tag, in, to_here.count,
                                 to_here.type, from, in_tag, comm, status);
    }
  }
  return exchange(*own, send, receive, status);
}

template <class Count>
int sendrecv_replace(void* buffer, Count count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
                     MPI_Comm comm, MPI_Status* status) {
  const OwnComm* own = own_comm(comm);
  End send, receive;
  if (own == nullptr || is_missing(status) ||
      !describe_end(*own, true, buffer, count, type, to, out_tag, &send) ||
      !describe_end(*own, false, buffer, count, type, from, in_tag, &receive))
    return call_host(pmpi.sendrecv_replace, buffer, count, type, to, out_tag, from, in_tag, comm, status);
  // What is sent leaves the buffer before anything is put there.
  const std::unique_ptr<std::byte[]> copy = packed(send.data);
  if (copy == nullptr) return raise_on(comm, MPI_ERR_NO_MEM);
  send.data = {.buffer = copy.get(), .count = send.data.bytes, .bytes = send.data.bytes, .type = MPI_BYTE};
  return exchange(*own, send, receive, status);
}

// --- Without waiting: the request is the receive's, which knows of the send ---

// Null: *error tells why.
runtime::MessageRequest* start_receive_of(const OwnComm& own, const End& in, int* error) {
  return in.is_there() ? new_receive(own, in.data, in.partner, in.tag, error)
                       : new_receive_of_nothing(own, error);
}
runtime::MessageRequest* start_send_of(const OwnComm& own, const End& out, int* error) {
  return out.is_there() ? new_send(own, out.data, out.partner, out.tag, Mode::standard, error) : done_send;
}

// The receive comes first, so that a message to oneself finds it. `is_replaced`: both have one buffer, so
// that what is sent leaves it before anything is put there.
int start_exchange(const OwnComm& own, End out, const End& in, bool is_replaced, MPI_Request* handle) {
  int error = MPI_SUCCESS;
  runtime::MessageRequest *receive = nullptr, *send = nullptr;
  out.data.is_copied = out.data.is_copied || is_replaced;
  if (is_replaced) send = start_send_of(own, out, &error);
  if (error == MPI_SUCCESS) receive = start_receive_of(own, in, &error);
  if (error == MPI_SUCCESS && !is_replaced) send = start_send_of(own, out, &error);
  if (error == MPI_SUCCESS) {
    if (send != done_send) receive->callers.beside = send;
    *handle = handle_of<MPI_Request>(receive);
    return MPI_SUCCESS;
  }
  // What has begun ends by itself.
  for (runtime::MessageRequest* begun : {receive, send}) {
    if (begun != nullptr) free_begun(begun);
  }
  return error;
}

StartBoth start_both = nullptr;

// By a host that has no such function (Open MPI 4): a receive and a send.
int host_exchange(std::shared_ptr<void> kept, const Start& receive, const Start& send, MPI_Comm comm,
                  MPI_Request* handle) {
  return handle == nullptr ? raise_on(comm, MPI_ERR_ARG) : start_both(std::move(kept), receive, send, handle);
}
// What is sent leaves the buffer first, as bytes.
template <class Count>
int host_exchange_replace(void* buffer, Count count, MPI_Datatype type, int to, int out_tag, int from,
                          int in_tag, MPI_Comm comm, MPI_Request* handle) {
  Data data;
  // The host says what is wrong, if anything is.
  if (!describe_data(buffer, count, type, &data))
    return call_host(pmpi.isend, buffer, count, type, to, out_tag, comm, handle);
  const std::shared_ptr<std::byte[]> copy = packed(data);
  if (copy == nullptr) return raise_on(comm, MPI_ERR_NO_MEM);
  return host_exchange(
      std::shared_ptr<void>(copy, copy.get()),
      [&](MPI_Request* request) {
        return call_host(pmpi.irecv, buffer, count, type, from, in_tag, comm, request);
      },
      [&](MPI_Request* request) {
        const auto bytes = static_cast<MPI_Count>(data.bytes);
        return call_host(pmpi.isend, copy.get(), bytes, MPI_BYTE, to, out_tag, comm, request);
      },
      comm, handle);
}

template <class Count>
int isendrecv(const void* out, Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
              Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
              MPI_Request* handle) {
  const OwnComm* own = own_comm(comm);
  End send, receive;
  if (own == nullptr || handle == nullptr ||
      !describe_end(*own, true, out, out_count, out_type, to, out_tag, &send) ||
      !describe_end(*own, false, in, in_count, in_type, from, in_tag, &receive)) {
    if constexpr (std::is_same_v<Count, int>) {
      if (pmpi.isendrecv.small != nullptr)
        return pmpi.isendrecv.small(out, out_count, out_type, to, out_tag, in, in_count, in_type, from,
                                    in_tag, comm, handle);
    } else {
      if (pmpi.isendrecv.large != nullptr)
        return pmpi.isendrecv.large(out, out_count, out_type, to, out_tag, in, in_count, in_type, from,
                                    in_tag, comm, handle);
    }
    return host_exchange(
        nullptr,
        [&](MPI_Request* request) {
          return call_host(pmpi.irecv, in, in_count, in_type, from, in_tag, comm, request);
        },
        [&](MPI_Request* request) {
          return call_host(pmpi.isend, out, out_count, out_type, to, out_tag, comm, request);
        },
        comm, handle);
  }
  return start_exchange(*own, send, receive, false, handle);
}

template <class Count>
int isendrecv_replace(void* buffer, Count count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
                      MPI_Comm comm, MPI_Request* handle) {
  const OwnComm* own = own_comm(comm);
  End send, receive;
  if (own == nullptr || handle == nullptr ||
      !describe_end(*own, true, buffer, count, type, to, out_tag, &send) ||
      !describe_end(*own, false, buffer, count, type, from, in_tag, &receive)) {
    if (pmpi.isendrecv_replace.small != nullptr)
      return call_host(pmpi.isendrecv_replace, buffer, count, type, to, out_tag, from, in_tag, comm, handle);
    return host_exchange_replace(buffer, count, type, to, out_tag, from, in_tag, comm, handle);
  }
  return start_exchange(*own, send, receive, true, handle);
}

}  // namespace

void add_both_ways(UnisonoFunction* functions, StartBoth start_both_of_host) {
  start_both = start_both_of_host;
  functions[unisono_slot_Sendrecv] = erased(sendrecv<int>);
  functions[unisono_slot_Sendrecv_c] = erased(sendrecv<MPI_Count>);
  functions[unisono_slot_Sendrecv_replace] = erased(sendrecv_replace<int>);
  functions[unisono_slot_Sendrecv_replace_c] = erased(sendrecv_replace<MPI_Count>);
  functions[unisono_slot_Isendrecv] = erased(isendrecv<int>);
  functions[unisono_slot_Isendrecv_c] = erased(isendrecv<MPI_Count>);
  functions[unisono_slot_Isendrecv_replace] = erased(isendrecv_replace<int>);
  functions[unisono_slot_Isendrecv_replace_c] = erased(isendrecv_replace<MPI_Count>);
}

}  // namespace unisono::adapter::messages
