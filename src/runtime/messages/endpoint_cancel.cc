// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint does where a program cancels a message (MPI 4.1, section 3.8.4). Who waits afterwards
// waits for no receive: the receiver's rank answers when it takes in what has come.
//
// A message that its receiver keeps stays in the queue, marked: a queue gives its messages out in order
// alone.
#include <algorithm>

#include "runtime/messages/endpoint.h"
#include "runtime/messages/ring_items.h"

namespace unisono::runtime {

void Endpoint::cancel(MessageRequest* request) {
  if (request->is_done) return;
  if (request->kind == MessageRequest::Kind::send) return cancel_send(request);
  Communicator* comm = find(request->envelope.context);
  if (comm == nullptr || !comm->queues->cancel(request->envelope, request)) return;
  request->is_cancelled = true;
  finish(request);
}

// One whose data leaves with it by the arena is done as soon as there is room, or copied (buffer_held_back).
void Endpoint::cancel_send(MessageRequest* request) {
  const int peer = request->peer;
  if (peer == mailbox_.rank()) {
    if (drop(peer, number_of(request), false) != nullptr) send_ended(request, true);
    return;
  }
  if (take_back(request)) return send_ended(request, true);
  request->is_being_cancelled = true;
  const bool is_with_host = is_far(peer) && options_.moves->keep_from_ending(request);
  const std::uint64_t key = is_with_host ? request->peer_request : number_of(request);
  write(peer, {item_of(ItemKind::cancel_send, 0, 0, is_with_host ? 1 : 0), data_of(key, number_of(request)),
               nullptr});
}

// What has no room yet, and nothing of it has left.
bool Endpoint::take_back(MessageRequest* request) {
  std::deque<Outgoing>& held_back = outgoing_[static_cast<std::size_t>(request->peer)];
  const std::vector<std::byte> of_long = data_of(number_of(request));
  const auto found = std::ranges::find_if(held_back, [&](const Outgoing& out) {
    if (out.eager != nullptr) return out.eager == request && request->moved == 0;
    if (out.by_host != nullptr) return out.by_host == request;
    return kind_of(out.item) == ItemKind::long_message && out.data == of_long;
  });
  if (found == held_back.end()) return false;
  held_back.erase(found);
  --held_back_;
  return true;
}

// Its receiver's side. Between nodes the host carries the data as soon as it is sent: somebody has to take
// it.
void Endpoint::send_cancelled(int from, std::uint64_t key, std::uint64_t request, bool is_with_host) {
  MessageRequest* fetching = is_with_host ? requests_.take() : nullptr;
  const bool may_drop = !is_with_host || fetching != nullptr;
  const WaitingMessage* dropped = may_drop ? drop(from, key, is_with_host) : nullptr;
  // Without the host the request may have ended meanwhile, unless it is cancelled.
  if (is_with_host || dropped != nullptr)
    write(from, {item_of(ItemKind::send_ended, 0, 0, dropped != nullptr ? 1 : 0), data_of(request), nullptr});
  if (fetching == nullptr) return;
  if (dropped == nullptr) return requests_.give(fetching);
  begin(fetching, MessageRequest::Kind::receive);
  fetching->is_abandoned = true;
  fetching->bytes = 0;
  fetching->message_bytes = dropped->bytes;
  options_.moves->fetch(rank_of_far(from), fetching, static_cast<int>(key));
}

// The message that its sender knows by `key`, where no receive and no probe has got it: nobody will.
WaitingMessage* Endpoint::drop(int from, std::uint64_t key, bool is_with_host) {
  WaitingMessage* found = nullptr;
  waiting_.for_each([&](WaitingMessage* message) {
    if (message->peer == from && message->sender_request == key && message->is_long &&
        message->is_with_host == is_with_host && message->is_in_queue && !message->is_cancelled)
      found = message;
  });
  if (found != nullptr) found->is_cancelled = true;
  return found;
}

void Endpoint::send_ended(MessageRequest* request, bool is_cancelled) {
  request->is_cancelled = is_cancelled;
  if (is_far(request->peer) && options_.moves->let_end(request)) return;
  if (is_cancelled) finish(request);
}

}  // namespace unisono::runtime
