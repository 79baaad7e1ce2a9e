// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/endpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/messages/items.h"

namespace unisono::runtime {
namespace {

using matching::Envelope;

std::uint64_t number_of(const MessageRequest* request) {
  return reinterpret_cast<std::uint64_t>(request);
}
MessageRequest* request_of(std::uint64_t number) {
  return reinterpret_cast<MessageRequest*>(number);
}

template <class... Numbers>
std::vector<std::byte> data_of(Numbers... numbers) {
  const std::uint64_t all[] = {numbers...};
  std::vector<std::byte> data(sizeof all);
  std::memcpy(data.data(), all, sizeof all);
  return data;
}

// As much as the receive has room for, from byte `at` of the message on.
void copy_in(MessageRequest* request, std::uint64_t at, const void* data, std::uint64_t bytes) {
  if (at >= request->bytes) return;
  const std::uint64_t count = std::min(bytes, request->bytes - at);
  if (count != 0) std::memcpy(static_cast<std::byte*>(request->buffer) + at, data, count);
}

}  // namespace

Endpoint::Endpoint(shm::Mailbox* mailbox, EndpointOptions options)
    : mailbox_(*mailbox),
      options_(std::move(options)),
      outgoing_(static_cast<std::size_t>(mailbox->ranks())) {
  options_.eager_bytes = std::min<std::uint64_t>(options_.eager_bytes, mailbox_.arena().most_bytes());
  options_.piece_bytes = std::min<std::uint64_t>(options_.piece_bytes, mailbox_.arena().most_bytes());
}

Endpoint::~Endpoint() {
  for (const WaitingMessage* message : waiting_) delete message;
}

void Endpoint::open(std::uint32_t context, std::vector<int> ranks) {
  Communicator& comm = communicators_[context];
  comm.number.assign(static_cast<std::size_t>(mailbox_.ranks()), -1);
  for (int rank = 0; rank < std::ssize(ranks); ++rank)
    comm.number[static_cast<std::size_t>(ranks[static_cast<std::size_t>(rank)])] = rank;
  comm.ranks = std::move(ranks);
  comm.queues = options_.make_queues();
  const auto early = early_.extract(context);
  if (early.empty()) return;
  for (WaitingMessage* message : early.mapped()) {
    message->envelope.source = comm.number[static_cast<std::size_t>(message->peer)];
    comm.queues->arrive(message->envelope, message);
  }
}

void Endpoint::close(std::uint32_t context) {
  closing_.push_back(context);
  close_what_has_ended();
}

void Endpoint::close_what_has_ended() {
  std::erase_if(closing_, [this](std::uint32_t context) {
    if (communicator(context).queues->posted().depth != 0) return false;
    // What nobody has asked for, nobody can ask for any more.
    for (WaitingMessage* message : std::vector<WaitingMessage*>(waiting_.begin(), waiting_.end())) {
      if (message->envelope.context == context && message->is_in_queue) forget(message);
    }
    communicators_.erase(context);
    return true;
  });
}

MessageRequest* Endpoint::make_request(MessageRequest::Kind kind) {
  if (free_requests_.empty()) {
    requests_.push_back(std::make_unique<MessageRequest>());
    free_requests_.push_back(requests_.back().get());
  }
  MessageRequest* request = free_requests_.back();
  free_requests_.pop_back();
  *request = {.kind = kind};
  return request;
}

void Endpoint::release(MessageRequest* request) {
  if (request != nullptr) free_requests_.push_back(request);
}

// --- Sending ---

MessageRequest* Endpoint::send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to,
                               int tag, bool waits) {
  const Communicator& comm = communicator(context);
  MessageRequest* request = make_request(MessageRequest::Kind::send);
  request->peer = comm.ranks[static_cast<std::size_t>(to)];
  request->envelope = {
      .source = comm.number[static_cast<std::size_t>(mailbox_.rank())], .tag = tag, .context = context};
  request->buffer = const_cast<void*>(buffer);
  request->bytes = bytes;
  if (request->peer == mailbox_.rank()) {
    send_to_self(request, waits);
  } else {
    send_to_other(request, waits);
  }
  return request;
}

void Endpoint::send_to_other(MessageRequest* request, bool waits) {
  const int peer = request->peer;
  const std::uint64_t bytes = request->bytes;
  const auto item = [&](ItemKind kind) {
    return item_of(kind, request->envelope.context, request->envelope.tag, bytes);
  };
  if (waits || bytes > options_.eager_bytes || mailbox_.wants_headers_only(peer))
    return write(peer, {item(ItemKind::long_message), data_of(number_of(request)), nullptr});
  if (bytes > shm::most_bytes_of_item) return write(peer, {item(ItemKind::arena_message), {}, request});
  request->is_done = true;
  if (outgoing_[static_cast<std::size_t>(peer)].empty() && mailbox_.has_room(peer, bytes))
    return mailbox_.write(peer, item(ItemKind::short_message), request->buffer, bytes);
  const auto* data = static_cast<const std::byte*>(request->buffer);
  write(peer, {item(ItemKind::short_message), {data, data + bytes}, nullptr});
}

void Endpoint::send_to_self(MessageRequest* request, bool waits) {
  arrive({.envelope = request->envelope,
          .peer = request->peer,
          .bytes = request->bytes,
          .data = request->buffer,
          .sender_request = number_of(request),
          .is_long = waits || request->bytes > options_.eager_bytes});
  if (!waits && request->bytes <= options_.eager_bytes) request->is_done = true;
}

bool Endpoint::try_write(int peer, const Outgoing& out) {
  MessageRequest* eager = out.eager;
  if (eager == nullptr) {
    if (!mailbox_.has_room(peer, out.data.size())) return false;
    mailbox_.write(peer, out.item, out.data.data(), out.data.size());
    return true;
  }
  if (!mailbox_.has_room(peer, sizeof(std::uint64_t))) return false;
  void* place = mailbox_.arena().take(eager->bytes);
  if (place == nullptr) return false;
  std::memcpy(place, eager->buffer, eager->bytes);
  const std::uint64_t offset = mailbox_.arena().offset(place);
  mailbox_.write(peer, out.item, &offset, sizeof offset);
  eager->is_done = true;
  return true;
}

// Behind what had no room before it.
void Endpoint::write(int peer, Outgoing out) {
  std::deque<Outgoing>& held_back = outgoing_[static_cast<std::size_t>(peer)];
  if (held_back.empty() && try_write(peer, out)) return;
  held_back.push_back(std::move(out));
  ++held_back_;
}

void Endpoint::flush() {
  if (held_back_ == 0) return;
  for (int peer = 0; peer < mailbox_.ranks(); ++peer) {
    std::deque<Outgoing>& held_back = outgoing_[static_cast<std::size_t>(peer)];
    while (!held_back.empty() && try_write(peer, held_back.front())) {
      held_back.pop_front();
      --held_back_;
    }
  }
}

bool Endpoint::move_piece(MessageRequest* request) {
  if (!mailbox_.has_room(request->peer, 2 * sizeof(std::uint64_t))) return false;
  const std::uint64_t bytes = std::min(options_.piece_bytes, request->bytes - request->moved);
  void* place = mailbox_.arena().take(bytes);
  if (place == nullptr) return false;
  std::memcpy(place, static_cast<const std::byte*>(request->buffer) + request->moved, bytes);
  const std::uint64_t numbers[] = {request->peer_request, mailbox_.arena().offset(place)};
  mailbox_.write(request->peer, item_of(ItemKind::piece, 0, 0, bytes), numbers, sizeof numbers);
  request->moved += bytes;
  request->is_done = request->moved == request->bytes;
  return true;
}

// A piece of each in turn: none waits for another one's receiver.
void Endpoint::move_pieces() {
  bool has_moved = !moving_.empty();
  while (has_moved) {
    has_moved = false;
    for (MessageRequest* request : moving_)
      has_moved = (!request->is_done && move_piece(request)) || has_moved;
    std::erase_if(moving_, [](const MessageRequest* request) { return request->is_done; });
  }
}

bool Endpoint::is_idle() const {
  return held_back_ == 0 && moving_.empty();
}

// --- Receiving ---

MessageRequest* Endpoint::receive(std::uint32_t context, void* buffer, std::uint64_t bytes, int from,
                                  int tag) {
  MessageRequest* request = make_request(MessageRequest::Kind::receive);
  request->envelope = {.source = from, .tag = tag, .context = context};
  request->buffer = buffer;
  request->bytes = bytes;
  auto* message =
      static_cast<WaitingMessage*>(communicator(context).queues->post(request->envelope, request));
  if (message != nullptr) {
    deliver(request, arrived(*message));
    forget(message);
  }
  return request;
}

const WaitingMessage* Endpoint::probe(std::uint32_t context, int from, int tag) {
  return static_cast<WaitingMessage*>(
      communicator(context).queues->probe({.source = from, .tag = tag, .context = context}));
}

WaitingMessage* Endpoint::take(std::uint32_t context, int from, int tag) {
  auto* message = static_cast<WaitingMessage*>(
      communicator(context).queues->take({.source = from, .tag = tag, .context = context}));
  if (message != nullptr) message->is_in_queue = false;
  return message;
}

MessageRequest* Endpoint::receive_taken(WaitingMessage* message, void* buffer, std::uint64_t bytes) {
  MessageRequest* request = make_request(MessageRequest::Kind::receive);
  request->buffer = buffer;
  request->bytes = bytes;
  deliver(request, arrived(*message));
  forget(message);
  return request;
}

bool Endpoint::cancel(MessageRequest* request) {
  if (request->kind != MessageRequest::Kind::receive || request->is_done) return false;
  if (!communicator(request->envelope.context).queues->cancel(request->envelope, request)) return false;
  request->is_done = request->is_cancelled = true;
  return true;
}

Endpoint::Arrived Endpoint::arrived(const WaitingMessage& message) {
  return {.envelope = message.envelope,
          .peer = message.peer,
          .bytes = message.bytes,
          .data = message.data.get(),
          .sender_request = message.sender_request,
          .is_long = message.is_long};
}

void Endpoint::deliver(MessageRequest* request, const Arrived& message) {
  request->envelope = message.envelope;
  request->message_bytes = message.bytes;
  request->peer = message.peer;
  if (!message.is_long) {
    copy_in(request, 0, message.data, message.bytes);
    request->is_done = true;
    return;
  }
  if (message.peer == mailbox_.rank()) {
    MessageRequest* sender = request_of(message.sender_request);
    copy_in(request, 0, sender->buffer, sender->bytes);
    request->is_done = sender->is_done = true;
    return;
  }
  request->peer_request = message.sender_request;
  request->is_done = message.bytes == 0;
  write(message.peer, {item_of(ItemKind::clear_to_send, 0, 0, 0),
                       data_of(message.sender_request, number_of(request)), nullptr});
}

void Endpoint::arrive(Arrived message) {
  const auto found = communicators_.find(message.envelope.context);
  if (found == communicators_.end()) {
    early_[message.envelope.context].push_back(keep(message));
    return;
  }
  Communicator& comm = found->second;
  message.envelope.source = comm.number[static_cast<std::size_t>(message.peer)];
  auto* request = static_cast<MessageRequest*>(comm.queues->arrive(message.envelope, spare_.get()));
  if (request != nullptr) return deliver(request, message);
  keep(message);
}

// In what the queue has just been given.
WaitingMessage* Endpoint::keep(const Arrived& message) {
  WaitingMessage* kept = spare_.release();
  spare_ = std::make_unique<WaitingMessage>();
  kept->envelope = message.envelope;
  kept->bytes = message.bytes;
  kept->peer = message.peer;
  kept->sender_request = message.sender_request;
  kept->is_long = message.is_long;
  if (!message.is_long && message.bytes != 0) {
    kept->data = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
    std::memcpy(kept->data.get(), message.data, message.bytes);
  }
  waiting_.insert(kept);
  count_unexpected(kept->data == nullptr ? 0 : static_cast<std::int64_t>(kept->bytes));
  return kept;
}

void Endpoint::forget(WaitingMessage* message) {
  count_unexpected(message->data == nullptr ? 0 : -static_cast<std::int64_t>(message->bytes));
  waiting_.erase(message);
  delete message;
}

void Endpoint::count_unexpected(std::int64_t bytes) {
  unexpected_bytes_ += static_cast<std::uint64_t>(bytes);
  const std::uint64_t most =
      has_too_many_ ? options_.most_unexpected_bytes / 2 : options_.most_unexpected_bytes;
  if (has_too_many_ == (unexpected_bytes_ > most)) return;
  has_too_many_ = !has_too_many_;
  mailbox_.want_headers_only(has_too_many_);
}

void Endpoint::piece_arrived(int from, MessageRequest* request, std::uint64_t offset, std::uint64_t bytes) {
  copy_in(request, request->moved, mailbox_.in_arena(from, offset), bytes);
  mailbox_.free_in_arena(from, offset);
  request->moved += bytes;
  request->is_done = request->moved == request->message_bytes;
}

void Endpoint::take_item(int from, shm::RingReader& reader) {
  const shm::RingItem item = *reader.peek();
  const ItemKind kind = kind_of(item);
  std::uint64_t numbers[2] = {};
  Arrived message{
      .envelope = {.tag = tag_of(item), .context = context_of(item)}, .peer = from, .bytes = item.words[1]};
  const auto take = [&](std::size_t count) {
    reader.copy(numbers, count * sizeof numbers[0]);
    reader.drop(count * sizeof numbers[0]);
  };
  switch (kind) {
    case ItemKind::short_message: {
      std::byte data[shm::most_bytes_of_item];
      reader.copy(data, message.bytes);
      reader.drop(message.bytes);
      message.data = data;
      return arrive(message);
    }
    case ItemKind::arena_message:
      take(1);
      message.data = mailbox_.in_arena(from, numbers[0]);
      arrive(message);
      return mailbox_.free_in_arena(from, numbers[0]);
    case ItemKind::long_message:
      take(1);
      message.sender_request = numbers[0];
      message.is_long = true;
      return arrive(message);
    case ItemKind::clear_to_send: {
      take(2);
      MessageRequest* request = request_of(numbers[0]);
      request->peer_request = numbers[1];
      request->is_done = request->bytes == 0;
      if (!request->is_done) moving_.push_back(request);
      return;
    }
    case ItemKind::piece:
      take(2);
      return piece_arrived(from, request_of(numbers[0]), numbers[1], item.words[1]);
  }
}

void Endpoint::progress() {
  mailbox_.poll([this](int from, shm::RingReader& reader) {
    take_item(from, reader);
    return true;
  });
  flush();
  move_pieces();
  if (!closing_.empty()) close_what_has_ended();
}

}  // namespace unisono::runtime
