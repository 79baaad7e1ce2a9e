// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/recorded_queues.h"

#include <utility>

#include "runtime/messages/message.h"

namespace unisono::runtime {
namespace {

using matching::Envelope;
using matching::Item;

EventPlace place_of(const Envelope& envelope, std::uint64_t bytes) {
  return {.context = envelope.context, .peer = envelope.source, .bytes = bytes};
}

void note_match(EventStream* stream, std::uint64_t now, std::uint32_t number, const Envelope& asked,
                const Envelope& message) {
  if (asked.source >= 0 && asked.tag >= 0) return stream->done(now, number);
  stream->done(now, number, message.source, message.tag);
}

}  // namespace

RecordedQueues::RecordedQueues(std::unique_ptr<matching::Queues> queues, EventStream* stream)
    : queues_(std::move(queues)), stream_(*stream) {}

// The endpoint asks for them now and then; nothing is missed in between, as each call ends with this.
void RecordedQueues::copy_counters() {
  posted_ = queues_->posted();
  unexpected_ = queues_->unexpected();
}

// What matches at once has one time.
Item RecordedQueues::post(const Envelope& receive, Item item) {
  auto* request = static_cast<MessageRequest*>(item);
  const bool is_on = stream_.is_on();
  const std::uint64_t now = is_on ? stream_.now() : 0;
  std::uint32_t& number = request->callers.recorded_number;
  number =
      is_on ? stream_.posted(now, place_of(receive, request->bytes), receive.tag) : EventStream::no_number;
  const Item found = queues_->post(receive, item);
  if (found != nullptr && is_on)
    note_match(&stream_, now, number, receive, static_cast<const WaitingMessage*>(found)->envelope);
  copy_counters();
  return found;
}

Item RecordedQueues::arrive(const Envelope& message, Item item) {
  const bool is_on = stream_.is_on();
  const std::uint64_t now = is_on ? stream_.now() : 0;
  if (is_on)
    stream_.arrived(now, place_of(message, static_cast<const WaitingMessage*>(item)->bytes), message.tag);
  const Item found = queues_->arrive(message, item);
  if (found != nullptr && is_on) {
    const auto* request = static_cast<const MessageRequest*>(found);
    note_match(&stream_, now, request->callers.recorded_number, request->envelope, message);
  }
  copy_counters();
  return found;
}

Item RecordedQueues::probe(const Envelope& receive) {
  const Item found = queues_->probe(receive);
  if (found != nullptr && stream_.is_on()) stream_.probed(stream_.now(), place_of(receive, 0), receive.tag);
  copy_counters();
  return found;
}

// A receive that has got its message.
Item RecordedQueues::take(const Envelope& receive) {
  const Item found = queues_->take(receive);
  if (found != nullptr && stream_.is_on()) {
    const std::uint64_t now = stream_.now();
    const std::uint32_t number = stream_.posted(now, place_of(receive, 0), receive.tag);
    note_match(&stream_, now, number, receive, static_cast<const WaitingMessage*>(found)->envelope);
  }
  copy_counters();
  return found;
}

bool RecordedQueues::cancel(const Envelope& receive, Item item) {
  const bool is_removed = queues_->cancel(receive, item);
  if (is_removed && stream_.is_on())
    stream_.cancelled(stream_.now(), static_cast<const MessageRequest*>(item)->callers.recorded_number);
  copy_counters();
  return is_removed;
}

}  // namespace unisono::runtime
