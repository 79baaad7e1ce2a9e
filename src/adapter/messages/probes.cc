// SPDX-License-Identifier: BSD-3-Clause
// MPI_Probe and its kin. MPI 4.1, section 3.8.
#include <utility>

#include "adapter/below/nesting.h"
#include "adapter/messages/message_arguments.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"
#include "adapter/messages/revoked.h"

namespace unisono::adapter::messages {
namespace {

// Null: the MPI makes the call, or says what is wrong with it.
const OwnComm* taken(int from, int tag, MPI_Comm comm, const MPI_Status* status) {
  const OwnComm* own = own_comm(comm);
  const bool is_right = own != nullptr && is_source_asked_for(*own, from) && is_tag_asked_for(tag);
  return is_right && !is_missing(status) ? own : nullptr;
}

// What a look has found.
struct Seen {
  bool is_there = false;
  matching::Envelope envelope{};
  std::uint64_t bytes = 0;
};

Seen seen(const runtime::WaitingMessage* message) {
  if (message == nullptr) return {};
  return {.is_there = true, .envelope = message->envelope, .bytes = message->bytes};
}

void tell(const Seen& found, MPI_Status* status) {
  set_status(status, found.envelope.source, found.envelope.tag, found.bytes);
}

// One look, of a program that may look again and again.
template <class Look>
bool look_once(Look look) {
  if (layer->is_over_by_now(look)) return true;
  let_others_go_on_now_and_then();
  return false;
}

template <class Look>
int look_until_there(MPI_Comm comm, Look look) {
  bool is_comm_revoked = false;
  const int lost = unless_peer_is_lost(comm, [&] {
    const Nested nested;
    layer->wait_until([&] { return look() || (is_comm_revoked = is_revoked_by_now(comm)); });
  });
  return is_comm_revoked ? raise_revoked(comm) : lost;
}

int probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  const OwnComm* own = taken(from, tag, comm, status);
  if (own == nullptr) return pmpi.Probe(from, tag, comm, status);
  Seen found;
  const int error = look_until_there(comm, [&]() UNISONO_NOT_CHECKED {
    found = seen(layer->endpoint().probe(own->context, own_source(from), own_tag(tag)));
    return found.is_there;
  });
  if (error == MPI_SUCCESS) tell(found, status);
  return error;
}

int iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const OwnComm* own = flag == nullptr ? nullptr : taken(from, tag, comm, status);
  if (own == nullptr) return pmpi.Iprobe(from, tag, comm, flag, status);
  Seen found;
  *flag = look_once([&]() UNISONO_NOT_CHECKED {
    found = seen(layer->endpoint().probe(own->context, own_source(from), own_tag(tag)));
    return found.is_there;
  });
  if (*flag == 0 && is_revoked_by_now(comm)) return raise_revoked(comm);
  if (*flag != 0) tell(found, status);
  return MPI_SUCCESS;
}

// A message that nobody else gets is held by a request of the table, until it is received.
runtime::MessageRequest* new_holder(const OwnComm& own, int* error) {
  runtime::MessageRequest* holder = new_request(own.comm, error);
  if (holder != nullptr) holder->callers.comm = widen<std::uintptr_t>(own.comm);
  return holder;
}

int mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const OwnComm* own = message == nullptr ? nullptr : taken(from, tag, comm, status);
  if (own == nullptr) return pmpi.Mprobe(from, tag, comm, message, status);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* holder = new_holder(*own, &error);
  if (holder == nullptr) return error;
  Seen found;
  error = look_until_there(comm, [&]() UNISONO_NOT_CHECKED {
    runtime::WaitingMessage* got = layer->endpoint().take(own->context, own_source(from), own_tag(tag));
    found = seen(got);
    holder->callers.buffer = got;
    return found.is_there;
  });
  if (error != MPI_SUCCESS) {
    drop_request(holder);
    return error;
  }
  tell(found, status);
  *message = handle_of<MPI_Message>(holder);
  return MPI_SUCCESS;
}

// Of the next message that MPI_Improbe takes. Under the lock; kept by looks that find nothing.
runtime::MessageRequest* next_holder = nullptr;

int improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const OwnComm* own = message == nullptr || flag == nullptr ? nullptr : taken(from, tag, comm, status);
  if (own == nullptr) return pmpi.Improbe(from, tag, comm, flag, message, status);
  // The room comes first: without it the message stays where it is, for another call.
  runtime::MessageRequest* holder = nullptr;
  Seen found;
  *flag = look_once([&]() UNISONO_NOT_CHECKED {
    runtime::Endpoint& endpoint = layer->endpoint();
    const int source = own_source(from), wanted = own_tag(tag);
    if (next_holder == nullptr) next_holder = endpoint.requests().take();
    if (next_holder == nullptr) return endpoint.probe(own->context, source, wanted) != nullptr;
    runtime::WaitingMessage* got = endpoint.take(own->context, source, wanted);
    found = seen(got);
    if (!found.is_there) return false;
    holder = std::exchange(next_holder, nullptr);
    holder->callers.buffer = got;
    return true;
  });
  if (holder == nullptr) {
    *message = MPI_MESSAGE_NULL;
    if (*flag != 0) return raise_on(comm, MPI_ERR_NO_MEM);
    return is_revoked_by_now(comm) ? raise_revoked(comm) : MPI_SUCCESS;
  }
  holder->callers.comm = widen<std::uintptr_t>(own->comm);
  tell(found, status);
  *message = handle_of<MPI_Message>(holder);
  return MPI_SUCCESS;
}

}  // namespace

void add_probes(UnisonoFunction* functions) {
  functions[unisono_slot_Probe] = erased(probe);
  functions[unisono_slot_Iprobe] = erased(iprobe);
  functions[unisono_slot_Mprobe] = erased(mprobe);
  functions[unisono_slot_Improbe] = erased(improbe);
}

}  // namespace unisono::adapter::messages
