// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/endpoint.h"

#include <algorithm>
#include <utility>

#include "base/short_copy.h"
#include "runtime/messages/ring_items.h"

namespace unisono::runtime {

Endpoint::Endpoint(shm::Mailbox* mailbox, EndpointOptions options)
    : mailbox_(*mailbox),
      options_(std::move(options)),
      outgoing_(static_cast<std::size_t>(mailbox->ranks()) + options_.far.size()),
      far_peers_(options_.far.size()),
      incoming_(static_cast<std::size_t>(mailbox->ranks())),
      ways_(options_.long_data, mailbox->ranks()) {
  options_.piece_bytes = std::min<std::uint64_t>(options_.piece_bytes, mailbox_.most_bytes_in_arena());
}

Endpoint::~Endpoint() {
  waiting_.give(next_waiting_);
}

void Endpoint::open(std::uint32_t context, std::vector<int> ranks) {
  Communicator& comm = communicators_[context];
  last_ = nullptr;
  comm.number.assign(outgoing_.size(), -1);
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
    const Communicator& comm = communicator(context);
    if (comm.queues->posted().depth != 0 || comm.holders != 0) return false;
    // What nobody has asked for, nobody can ask for any more.
    waiting_.for_each([&](WaitingMessage* message) {
      if (message->envelope.context == context && message->is_in_queue) forget(message);
    });
    totals_.note_depths(comm.queues->posted().deepest, comm.queues->unexpected().deepest);
    communicators_.erase(context);
    last_ = nullptr;
    return true;
  });
}

Endpoint::Communicator* Endpoint::find(std::uint32_t context) {
  if (last_ != nullptr && last_context_ == context) return last_;
  const auto found = communicators_.find(context);
  if (found == communicators_.end()) return nullptr;
  last_context_ = context;
  last_ = &found->second;
  return last_;
}

void Endpoint::begin(MessageRequest* request, MessageRequest::Kind kind) {
  request->kind = kind;
  request->is_done = request->is_cancelled = false;
  request->is_synchronous = request->is_being_cancelled = request->is_left = false;
  request->message_bytes = request->moved = request->peer_request = 0;
  ++unfinished_;
}

void Endpoint::finish(MessageRequest* request) {
  --unfinished_;
  if (request->is_left) left_bytes_ -= request->bytes;
  // One that is not abandoned may end as soon as it is done: its caller looks without the lock.
  const bool is_abandoned = request->is_abandoned;
  __atomic_store_n(&request->is_done, true, __ATOMIC_RELEASE);
  if (is_abandoned) abandon(request);
}

void Endpoint::release(MessageRequest* request) {
  if (request != nullptr) requests_.give(request);
}

void Endpoint::abandon(MessageRequest* request) {
  request->is_abandoned = true;
  if (!request->is_done) return;
  if (request->callers.holds_something()) {
    ended_.push_back(request);
  } else {
    requests_.give(request);
  }
}

// --- Sending ---

MessageRequest* Endpoint::send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to,
                               int tag, bool waits) {
  MessageRequest* request = requests_.take();
  if (request != nullptr) send(request, context, buffer, bytes, to, tag, waits);
  return request;
}

void Endpoint::send(MessageRequest* request, std::uint32_t context, const void* buffer, std::uint64_t bytes,
                    int to, int tag, bool waits) {
  const Communicator& comm = communicator(context);
  begin(request, MessageRequest::Kind::send);
  request->is_synchronous = waits;
  ++totals_.sent;
  request->peer = comm.ranks[static_cast<std::size_t>(to)];
  request->envelope = {
      .source = comm.number[static_cast<std::size_t>(mailbox_.rank())], .tag = tag, .context = context};
  request->buffer = const_cast<void*>(buffer);
  request->bytes = bytes;
  if (request->peer == mailbox_.rank()) {
    send_to_self(request, waits);
  } else if (is_far(request->peer)) {
    send_to_far(request, waits);
  } else {
    send_to_other(request, waits);
  }
}

bool Endpoint::try_send(std::uint32_t context, const void* buffer, std::uint64_t bytes, int to, int tag) {
  if (bytes > shm::most_bytes_of_item) return false;
  const int peer = communicator(context).ranks[static_cast<std::size_t>(to)];
  if (peer == mailbox_.rank() || is_far(peer) || !outgoing_[static_cast<std::size_t>(peer)].empty() ||
      mailbox_.wants_headers_only(peer) || !mailbox_.has_room(peer, bytes))
    return false;
  mailbox_.write(peer, item_of(ItemKind::short_message, context, tag, bytes), buffer, bytes);
  ++totals_.sent;
  return true;
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
  write(peer, {item(ItemKind::short_message), {}, request});
}

void Endpoint::send_to_self(MessageRequest* request, bool waits) {
  const bool is_long = waits || request->bytes > options_.eager_bytes;
  arrive({.envelope = request->envelope,
          .peer = request->peer,
          .bytes = request->bytes,
          .here = request->bytes,
          .data = request->buffer,
          .sender_request = number_of(request),
          .is_long = is_long});
  if (!is_long) finish(request);
}

// Where its data does not go with the item both start together: the receiver then asks for nothing, but where
// it has too much already. Not before the item, though: a host that searches among all that has come would
// find thousands of messages in front of each item.
void Endpoint::send_to_far(MessageRequest* request, bool waits) {
  const int peer = request->peer;
  const auto item = [&](ItemKind kind) {
    return item_of(kind, request->envelope.context, request->envelope.tag, request->bytes);
  };
  if (far(peer).wants_headers_only)
    return write(peer, {item(ItemKind::long_message), data_of(number_of(request)), nullptr});
  if (!waits && request->bytes <= HostLink::most_bytes)
    return write(peer, {item(ItemKind::short_message), {}, request});
  request->peer_request = static_cast<std::uint64_t>(options_.moves->take_tag(rank_of_far(peer)));
  write(peer, {item(ItemKind::hosts_message), data_of(request->peer_request), nullptr, request});
}

void Endpoint::send_asked_for_to_far(MessageRequest* request) {
  const int rank = rank_of_far(request->peer);
  const int tag = options_.moves->take_tag(rank);
  write(request->peer, {item_of(ItemKind::hosts_data, 0, 0, request->bytes),
                        data_of(request->peer_request, static_cast<std::uint64_t>(tag)), nullptr});
  options_.moves->send(rank, request, tag, false);
}

bool Endpoint::try_write_far(int peer, const Outgoing& out) {
  if (!options_.link->has_room()) return false;
  MessageRequest* eager = out.eager;
  if (eager != nullptr && far(peer).wants_headers_only) {
    const shm::RingItem header =
        item_of(ItemKind::long_message, context_of(out.item), tag_of(out.item), eager->bytes);
    return try_write_far(peer, {header, data_of(number_of(eager)), nullptr});
  }
  if (eager != nullptr) {
    options_.link->write(rank_of_far(peer), out.item, eager->buffer, eager->bytes);
    finish(eager);
  } else {
    options_.link->write(rank_of_far(peer), out.item, out.data.data(), out.data.size());
  }
  if (MessageRequest* request = out.by_host; request != nullptr)
    options_.moves->send(rank_of_far(peer), request, static_cast<int>(request->peer_request),
                         request->is_synchronous);
  return true;
}

bool Endpoint::try_write(int peer, const Outgoing& out) {
  if (is_far(peer)) return try_write_far(peer, out);
  MessageRequest* eager = out.eager;
  if (eager == nullptr) {
    if (!mailbox_.has_room(peer, out.data.size())) return false;
    mailbox_.write(peer, out.item, out.data.data(), out.data.size());
    return true;
  }
  // The peer may have said so since the message began.
  if (eager->moved == 0 && mailbox_.wants_headers_only(peer)) {
    const shm::RingItem header =
        item_of(ItemKind::long_message, context_of(out.item), tag_of(out.item), eager->bytes);
    return try_write(peer, {header, data_of(number_of(eager)), nullptr});
  }
  if (eager->bytes <= shm::most_bytes_of_item) {
    if (!mailbox_.has_room(peer, eager->bytes)) return false;
    mailbox_.write(peer, out.item, eager->buffer, eager->bytes);
    finish(eager);
    return true;
  }
  return try_write_pieces(peer, out);
}

// As far as there is room; the rest follows.
bool Endpoint::try_write_pieces(int peer, const Outgoing& out) {
  MessageRequest* eager = out.eager;
  do {
    if (!mailbox_.has_room(peer, sizeof(std::uint64_t))) return false;
    const std::uint64_t bytes = piece_of_eager(eager->bytes, eager->moved);
    const std::uint64_t name = mailbox_.put_into_arena(
        peer, static_cast<const std::byte*>(eager->buffer) + eager->moved, bytes, eager->bytes);
    if (name == 0) return false;
    const shm::RingItem item = eager->moved == 0 ? out.item : item_of(ItemKind::more_data, 0, 0, bytes);
    mailbox_.write(peer, item, &name, sizeof name);
    eager->moved += bytes;
  } while (eager->moved != eager->bytes);
  finish(eager);
  return true;
}

// Behind what had no room before it.
void Endpoint::write(int peer, Outgoing out) {
  std::deque<Outgoing>& held_back = outgoing_[static_cast<std::size_t>(peer)];
  if (held_back.empty() && try_write(peer, out)) return;
  held_back.push_back(std::move(out));
  ++held_back_;
}

void Endpoint::buffer_held_back() {
  if (held_back_ == 0) return;
  for (std::deque<Outgoing>& held_back : outgoing_) {
    for (Outgoing& out : held_back) {
      MessageRequest* request = out.eager;
      if (request == nullptr || request->is_abandoned) continue;
      if (buffered_bytes_ + request->bytes > options_.most_unexpected_bytes) return;
      MessageRequest* copy = requests_.take();
      if (copy == nullptr) return;
      copy->callers.copy.reset(new (std::nothrow) std::byte[std::max<std::uint64_t>(request->bytes, 1)]);
      if (copy->callers.copy == nullptr) return requests_.give(copy);
      copy_bytes(copy->callers.copy.get(), request->buffer, request->bytes);
      begin(copy, MessageRequest::Kind::send);
      copy->peer = request->peer;
      copy->envelope = request->envelope;
      copy->buffer = copy->callers.copy.get();
      copy->bytes = request->bytes;
      copy->moved = request->moved;
      copy->is_abandoned = true;
      buffered_bytes_ += copy->bytes;
      out.eager = copy;
      finish(request);
    }
  }
}

void Endpoint::leave(MessageRequest* request) {
  const bool is_possible = may_leave(request->bytes) && !request->is_synchronous &&
                           !request->is_being_cancelled && !is_far(request->peer) &&
                           request->peer_request == 0 &&
                           left_bytes_ + request->bytes <= options_.most_unexpected_bytes;
  if (request->is_done || !is_possible) return;
  std::unique_ptr<std::byte[]>& copy = request->callers.copy;
  if (copy == nullptr) {
    copy.reset(new (std::nothrow) std::byte[request->bytes]);
    if (copy == nullptr) return;
    copy_bytes(copy.get(), request->buffer, request->bytes);
    request->buffer = copy.get();
  }
  left_bytes_ += request->bytes;
  request->is_left = true;
}

bool Endpoint::flush() {
  if (held_back_ == 0) return false;
  const std::size_t before = held_back_;
  for (int peer = 0; peer < std::ssize(outgoing_); ++peer) {
    std::deque<Outgoing>& held_back = outgoing_[static_cast<std::size_t>(peer)];
    while (!held_back.empty() && try_write(peer, held_back.front())) {
      held_back.pop_front();
      --held_back_;
    }
  }
  if (held_back_ == 0) buffered_bytes_ = 0;
  return held_back_ != before;
}

bool Endpoint::move_piece(MessageRequest* request) {
  if (!mailbox_.has_room(request->peer, 2 * sizeof(std::uint64_t))) return false;
  const std::uint64_t bytes = std::min(options_.piece_bytes, request->bytes - request->moved);
  const void* data = static_cast<const std::byte*>(request->buffer) + request->moved;
  const std::uint64_t name = mailbox_.put_into_arena(request->peer, data, bytes, request->bytes);
  if (name == 0) return false;
  const std::uint64_t numbers[] = {request->peer_request, name};
  mailbox_.write(request->peer, item_of(ItemKind::piece, 0, 0, bytes), numbers, sizeof numbers);
  request->moved += bytes;
  return true;
}

// A piece of each in turn: none waits for another one's receiver.
bool Endpoint::move_pieces() {
  bool has_moved = !moving_.empty(), has_ever_moved = false;
  while (has_moved) {
    has_moved = false;
    for (MessageRequest* request : moving_) has_moved = move_piece(request) || has_moved;
    std::erase_if(moving_, [this](MessageRequest* request) {
      const bool is_over = request->moved == request->bytes;
      if (is_over) finish(request);
      return is_over;
    });
    has_ever_moved = has_ever_moved || has_moved;
  }
  return has_ever_moved;
}

MessageTotals Endpoint::totals() const {
  MessageTotals totals = totals_;
  for (const auto& [context, comm] : communicators_)
    totals.note_depths(comm.queues->posted().deepest, comm.queues->unexpected().deepest);
  return totals;
}

bool Endpoint::is_idle() const {
  return held_back_ == 0 && unheard_ == 0 && moving_.empty() &&
         (options_.link == nullptr || options_.link->is_idle()) &&
         (options_.moves == nullptr || options_.moves->is_idle());
}

bool Endpoint::progress_of_host(const MessageRequest* awaited) {
  bool has_moved = false;
  if (options_.link != nullptr) {
    has_moved = options_.link->poll([&](int rank, const shm::RingItem& item, const void* data) {
      take_far_item(options_.number_of_far[static_cast<std::size_t>(rank)], item, data);
      return awaited == nullptr || !awaited->is_done;
    });
  }
  if (options_.moves == nullptr || options_.moves->is_idle() || !may_call_host_) return has_moved;
  return options_.moves->poll([this](MessageRequest* request) {
    if (request->kind == MessageRequest::Kind::receive && !is_far(request->peer))
      ways_.ended(request->peer, request, false);
    finish(request);
  }) || has_moved;
}

bool Endpoint::progress_aside() {
  may_call_host_ = options_.may_call_host_aside;
  const bool has_moved = progress();
  may_call_host_ = true;
  return has_moved;
}

bool Endpoint::progress(const MessageRequest* awaited) {
  const bool is_from_other = awaited != nullptr && awaited->kind == MessageRequest::Kind::receive &&
                             awaited->peer != mailbox_.rank() && !is_far(awaited->peer);
  const int preferred = is_from_other ? awaited->peer : -1;
  const int taken = mailbox_.poll(
      [&](int from, shm::RingReader& reader) {
        take_item(from, reader);
        return awaited == nullptr || !awaited->is_done;
      },
      preferred);
  const bool has_linked = progress_of_host(awaited);
  const bool has_sent = flush();
  const bool has_moved = move_pieces();
  if (!closing_.empty()) close_what_has_ended();
  return taken != 0 || has_linked || has_sent || has_moved;
}

}  // namespace unisono::runtime
