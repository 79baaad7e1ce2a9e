// SPDX-License-Identifier: BSD-3-Clause
// An endpoint's receives, and what comes in by the rings.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/short_copy.h"
#include "runtime/messages/endpoint.h"
#include "runtime/messages/ring_items.h"

namespace unisono::runtime {
namespace {

// As much as the receive has room for, from byte `at` of the message on.
void copy_in(MessageRequest* request, std::uint64_t at, const void* data, std::uint64_t bytes) {
  if (at >= request->bytes) return;
  const std::uint64_t count = std::min(bytes, request->bytes - at);
  copy_bytes(static_cast<std::byte*>(request->buffer) + at, data, count);
}

}  // namespace

MessageRequest* Endpoint::receive(std::uint32_t context, void* buffer, std::uint64_t bytes, int from,
                                  int tag) {
  MessageRequest* request = requests_.take();
  if (request != nullptr) receive(request, context, buffer, bytes, from, tag);
  return request;
}

void Endpoint::receive(MessageRequest* request, std::uint32_t context, void* buffer, std::uint64_t bytes,
                       int from, int tag) {
  begin(request, MessageRequest::Kind::receive);
  Communicator& comm = communicator(context);
  request->envelope = {.source = from, .tag = tag, .context = context};
  request->buffer = buffer;
  request->bytes = bytes;
  request->peer = from == matching::any_source ? -1 : comm.ranks[static_cast<std::size_t>(from)];
  WaitingMessage* message = first_kept([&] { return comm.queues->post(request->envelope, request); });
  if (message == nullptr) return;
  deliver(request, arrived(*message));
  forget(message);
}

const WaitingMessage* Endpoint::probe(std::uint32_t context, int from, int tag) {
  const matching::Envelope envelope = {.source = from, .tag = tag, .context = context};
  matching::Queues& queues = *communicator(context).queues;
  for (;;) {
    auto* message = static_cast<WaitingMessage*>(queues.probe(envelope));
    if (message == nullptr || !message->is_cancelled) return message;
    forget(static_cast<WaitingMessage*>(queues.take(envelope)));
  }
}

WaitingMessage* Endpoint::take(std::uint32_t context, int from, int tag) {
  const matching::Envelope envelope = {.source = from, .tag = tag, .context = context};
  matching::Queues& queues = *communicator(context).queues;
  WaitingMessage* message = first_kept([&] { return queues.take(envelope); });
  if (message == nullptr) return nullptr;
  message->is_in_queue = false;
  return message;
}

MessageRequest* Endpoint::receive_taken(WaitingMessage* message, void* buffer, std::uint64_t bytes) {
  MessageRequest* request = requests_.take();
  if (request != nullptr) receive_taken(request, message, buffer, bytes);
  return request;
}

void Endpoint::receive_taken(MessageRequest* request, WaitingMessage* message, void* buffer,
                             std::uint64_t bytes) {
  begin(request, MessageRequest::Kind::receive);
  request->buffer = buffer;
  request->bytes = bytes;
  deliver(request, arrived(*message));
  forget(message);
}

Endpoint::Arrived Endpoint::arrived(const WaitingMessage& message) {
  return {.envelope = message.envelope,
          .peer = message.peer,
          .bytes = message.bytes,
          .here = message.here,
          .data = message.data(),
          .sender_request = message.sender_request,
          .is_long = message.is_long,
          .is_with_host = message.is_with_host};
}

void Endpoint::deliver(MessageRequest* request, const Arrived& message) {
  request->envelope = message.envelope;
  request->message_bytes = message.bytes;
  request->peer = message.peer;
  if (!message.is_long) {
    copy_in(request, 0, message.data, message.here);
    if (message.here == message.bytes) return finish(request);
    incoming_[static_cast<std::size_t>(message.peer)] = {
        .request = request, .bytes = message.bytes, .here = message.here};
    return;
  }
  if (message.peer == mailbox_.rank()) {
    MessageRequest* sender = request_of(message.sender_request);
    copy_in(request, 0, sender->buffer, sender->bytes);
    finish(sender);
    return finish(request);
  }
  request->peer_request = message.sender_request;
  if (message.is_with_host)
    return options_.moves->fetch(rank_of_far(message.peer), request,
                                 static_cast<int>(message.sender_request));
  ask_for_data(request);
}

// Its sender begins as soon as it knows. It may be where it cannot call the host: then it sends the data
// through memory all the same.
void Endpoint::ask_for_data(MessageRequest* request) {
  const int peer = request->peer;
  const bool may_be_hosts = options_.moves != nullptr && may_call_host_ && !is_far(peer) &&
                            request->message_bytes > options_.eager_bytes && !request->is_truncated();
  const std::uint64_t sender = request->peer_request, own = number_of(request);
  if (may_be_hosts && ways_.next(peer, request->message_bytes, request) == DataWay::host) {
    const int tag = options_.moves->take_tag(rank_of_near(peer));
    options_.moves->fetch(rank_of_near(peer), request, tag);
    return write(peer, {item_of(ItemKind::clear_to_host, 0, 0, 0),
                        data_of(sender, own, static_cast<std::uint64_t>(tag)), nullptr});
  }
  write(peer, {item_of(ItemKind::clear_to_send, 0, 0, 0), data_of(sender, own), nullptr});
  if (request->message_bytes == 0) finish(request);
}

void Endpoint::send_asked_for(MessageRequest* request, std::uint64_t receive, std::optional<int> tag) {
  request->peer_request = receive;
  if (request->bytes == 0) return finish(request);
  if (!tag || !may_call_host_) return moving_.push_back(request);
  ++totals_.by_host;
  options_.moves->send(rank_of_near(request->peer), request, *tag, false);
}

void Endpoint::arrive(Arrived message) {
  Communicator* found = find(message.envelope.context);
  if (found == nullptr) {
    early_[message.envelope.context].push_back(keep(message));
    return;
  }
  Communicator& comm = *found;
  message.envelope.source = comm.number[static_cast<std::size_t>(message.peer)];
  next_waiting_->bytes = message.bytes;  // for who records it
  auto* request = static_cast<MessageRequest*>(comm.queues->arrive(message.envelope, next_waiting_));
  if (request != nullptr) return deliver(request, message);
  keep(message);
}

// In what the queue has just been given.
WaitingMessage* Endpoint::keep(const Arrived& message) {
  WaitingMessage* kept = std::exchange(next_waiting_, waiting_.take());
  waiting_.add(kept);
  kept->envelope = message.envelope;
  kept->bytes = message.bytes;
  kept->here = message.here;
  kept->peer = message.peer;
  kept->sender_request = message.sender_request;
  kept->is_long = message.is_long;
  kept->is_with_host = message.is_with_host;
  if (message.is_long || message.bytes == 0) return kept;
  if (message.bytes > sizeof kept->short_data)
    kept->longer_data = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
  copy_bytes(kept->data(), message.data, message.here);
  if (message.here != message.bytes)
    incoming_[static_cast<std::size_t>(message.peer)] = {
        .waiting = kept, .bytes = message.bytes, .here = message.here};
  count_unexpected(static_cast<std::int64_t>(kept->bytes));
  if (has_too_many_ && is_far(message.peer)) tell_far(message.peer, true);
  return kept;
}

void Endpoint::forget(WaitingMessage* message) {
  if (!message->is_long) count_unexpected(-static_cast<std::int64_t>(message->bytes));
  // What is still to come of it has got its receive by now, or nobody asks for it any more.
  if (message->here != message->bytes) {
    Incoming& incoming = incoming_[static_cast<std::size_t>(message->peer)];
    if (incoming.waiting == message) incoming.waiting = nullptr;
  }
  waiting_.remove(message);
}

void Endpoint::count_unexpected(std::int64_t bytes) {
  unexpected_bytes_ += static_cast<std::uint64_t>(bytes);
  totals_.most_unexpected_bytes = std::max(totals_.most_unexpected_bytes, unexpected_bytes_);
  const std::uint64_t most =
      has_too_many_ ? options_.most_unexpected_bytes / 2 : options_.most_unexpected_bytes;
  if (has_too_many_ == (unexpected_bytes_ > most)) return;
  has_too_many_ = !has_too_many_;
  if (has_too_many_) ++totals_.floods;
  mailbox_.want_headers_only(has_too_many_);
  if (has_too_many_) return;
  for (std::size_t i = 0; i < far_peers_.size(); ++i) tell_far(mailbox_.ranks() + static_cast<int>(i), false);
}

// Those who send, once, and the same ones when it is over.
void Endpoint::tell_far(int peer, bool wants_headers_only) {
  if (far(peer).was_told == wants_headers_only) return;
  far(peer).was_told = wants_headers_only;
  ++unheard_;
  tell_at_once(peer, item_of(ItemKind::headers_only, 0, 0, wants_headers_only ? 1 : 0));
}

// Before all that waits for room: it may be what makes some.
void Endpoint::tell_at_once(int peer, const shm::RingItem& item) {
  options_.link->write(rank_of_far(peer), item, nullptr, 0);
}

// The next piece of a message that went at once.
void Endpoint::more_arrived(int from, std::uint64_t name, std::uint64_t bytes) {
  Incoming& incoming = incoming_[static_cast<std::size_t>(from)];
  MessageRequest* request = incoming.request;
  WaitingMessage* waiting = incoming.waiting;
  mailbox_.read_arena(from, name, bytes, [&](const void* data) {
    if (request != nullptr) copy_in(request, incoming.here, data, bytes);
    if (waiting != nullptr) copy_bytes(waiting->data() + incoming.here, data, bytes);
  });
  incoming.here += bytes;
  if (waiting != nullptr) waiting->here = incoming.here;
  if (incoming.here != incoming.bytes) return;
  incoming = {};
  if (request != nullptr) finish(request);
}

void Endpoint::piece_arrived(int from, MessageRequest* request, std::uint64_t name, std::uint64_t bytes) {
  if (request->moved == 0 && options_.moves != nullptr && options_.moves->give_up(request))
    ways_.ended(from, request, true);
  mailbox_.read_arena(from, name, bytes,
                      [&](const void* data) { copy_in(request, request->moved, data, bytes); });
  request->moved += bytes;
  if (request->moved != request->message_bytes) return;
  ways_.ended(from, request, false);
  finish(request);
}

void Endpoint::take_item(int from, shm::RingReader& reader) {
  const shm::RingItem item = *reader.peek();
  const ItemKind kind = kind_of(item);
  std::uint64_t numbers[3] = {};
  Arrived message{.envelope = {.tag = tag_of(item), .context = context_of(item)},
                  .peer = from,
                  .bytes = item.words[1],
                  .here = item.words[1]};
  const auto take = [&](std::size_t count) {
    reader.copy(numbers, count * sizeof numbers[0]);
    reader.drop(count * sizeof numbers[0]);
  };
  switch (kind) {
    case ItemKind::short_message: {
      // What lies in one line is read there.
      std::byte data[shm::most_bytes_of_item];
      message.data = message.bytes <= shm::bytes_of_first_line ? reader.first_bytes() : data;
      if (message.data == data) reader.copy(data, message.bytes);
      arrive(message);
      return reader.drop(message.bytes);
    }
    case ItemKind::arena_message:
      take(1);
      message.here = piece_of_eager(message.bytes, 0);
      return mailbox_.read_arena(from, numbers[0], message.here, [&](const void* data) {
        message.data = data;
        arrive(message);
      });
    case ItemKind::more_data:
      take(1);
      return more_arrived(from, numbers[0], item.words[1]);
    case ItemKind::long_message:
      take(1);
      message.sender_request = numbers[0];
      message.is_long = true;
      return arrive(message);
    case ItemKind::clear_to_send:
      take(2);
      return send_asked_for(request_of(numbers[0]), numbers[1], std::nullopt);
    case ItemKind::clear_to_host:
      take(3);
      return send_asked_for(request_of(numbers[0]), numbers[1], static_cast<int>(numbers[2]));
    case ItemKind::piece:
      take(2);
      return piece_arrived(from, request_of(numbers[0]), numbers[1], item.words[1]);
    case ItemKind::cancel_send:
      take(2);
      return send_cancelled(from, numbers[0], numbers[1], false);
    case ItemKind::send_ended:
      take(1);
      return send_ended(request_of(numbers[0]), item.words[1] != 0);
    case ItemKind::hosts_message:
    case ItemKind::hosts_data:
    case ItemKind::headers_only:
    case ItemKind::heard:
      return;  // between nodes alone
  }
}

void Endpoint::take_far_item(int from, const shm::RingItem& item, const void* data) {
  Arrived message{.envelope = {.tag = tag_of(item), .context = context_of(item)},
                  .peer = from,
                  .bytes = item.words[1],
                  .here = item.words[1]};
  std::uint64_t numbers[2] = {};
  const auto take = [&](std::size_t count) { std::memcpy(numbers, data, count * sizeof numbers[0]); };
  switch (kind_of(item)) {
    case ItemKind::headers_only:
      far(from).wants_headers_only = item.words[1] != 0;
      return tell_at_once(from, item_of(ItemKind::heard, 0, 0, 0));
    case ItemKind::heard:
      --unheard_;
      return;
    case ItemKind::hosts_data:
      take(2);
      return options_.moves->fetch(rank_of_far(from), request_of(numbers[0]), static_cast<int>(numbers[1]));
    case ItemKind::cancel_send:
      take(2);
      return send_cancelled(from, numbers[0], numbers[1], item.words[1] != 0);
    case ItemKind::send_ended:
      take(1);
      return send_ended(request_of(numbers[0]), item.words[1] != 0);
    case ItemKind::clear_to_send: {
      take(2);
      MessageRequest* request = request_of(numbers[0]);
      request->peer_request = numbers[1];
      return request->bytes == 0 ? finish(request) : send_asked_for_to_far(request);
    }
    case ItemKind::hosts_message:
    case ItemKind::long_message:
      take(1);
      message.is_long = true;
      message.is_with_host = kind_of(item) == ItemKind::hosts_message;
      message.sender_request = numbers[0];
      return arrive(message);
    default:
      message.data = data;
      return arrive(message);
  }
}

}  // namespace unisono::runtime
