// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/event_stream.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

#include "base/pages.h"

namespace unisono::runtime {
namespace {

constexpr EventPlace nowhere{.context = UINT32_MAX, .peer = INT32_MIN, .bytes = UINT64_MAX};
constexpr std::uint64_t first_bytes = std::uint64_t{2} << 20;

}  // namespace

EventStream::EventStream(std::uint64_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  mapped_bytes_ = bytes;
  begin_ = next_ = static_cast<std::uint64_t*>(memory);
  end_ = begin_ + bytes / sizeof *begin_;
}

EventStream::~EventStream() {
  if (begin_ != nullptr) ::munmap(begin_, mapped_bytes_);
}

void EventStream::start() {
  for (std::uint64_t at = 0; at < std::min(mapped_bytes_, first_bytes); at += page_bytes)
    *reinterpret_cast<volatile std::uint64_t*>(reinterpret_cast<std::byte*>(begin_) + at) = 0;
  places_.fill(nowhere);
  start_ticks_ = last_ticks_ = ticks();
  is_on_ = true;
}

void EventStream::put_place(std::uint64_t number, const EventPlace& place) {
  places_[number] = place;
  *next_++ = place_word | number << kind_bits | std::uint64_t{place.context} << (kind_bits + place_bits);
  *next_++ = static_cast<std::uint32_t>(place.peer);
  *next_++ = place.bytes;
}

// Of a receive that is over: what it has asked for, and what it has got.
void EventReader::take_number(std::uint64_t rest, RecordedEvent* event) {
  event->number = static_cast<std::uint32_t>(rest);
  const auto found = under_way_.find(event->number);
  if (found != under_way_.end()) {
    event->place = found->second.place;
    event->tag = found->second.tag;
    under_way_.erase(found);
  }
  if ((rest & EventStream::is_told) == 0) return;
  event->place.peer = static_cast<std::int32_t>(*word_ >> 32);
  event->tag = static_cast<std::int32_t>(*word_);
  ++word_;
}

bool EventReader::next(RecordedEvent* event) {
  using Stream = EventStream;
  while (word_ < stream_.next_) {
    const std::uint64_t word = *word_++;
    const std::uint64_t kind = word & Stream::mask(Stream::kind_bits);
    if (kind == Stream::time_word) {
      now_ = stream_.start_ticks_ + (word >> Stream::kind_bits);
      continue;
    }
    if (kind == Stream::place_word) {
      places_[word >> Stream::kind_bits & Stream::mask(Stream::place_bits)] = {
          .context = static_cast<std::uint32_t>(word >> (Stream::kind_bits + Stream::place_bits)),
          .peer = static_cast<std::int32_t>(word_[0]),
          .bytes = word_[1]};
      word_ += 2;
      continue;
    }
    now_ += word >> Stream::kind_bits & Stream::mask(Stream::ticks_bits);
    const std::uint64_t rest = word >> Stream::low_bits;
    *event = {.ticks = now_, .kind = static_cast<EventKind>(kind), .number = 0, .tag = 0, .place = {}};
    if (event->kind == EventKind::done || event->kind == EventKind::cancel) {
      take_number(rest, event);
      return true;
    }
    if (event->kind == EventKind::sample) {
      event->place.context = static_cast<std::uint32_t>(rest);
      event->place.bytes = *word_ >> 32;
      event->number = static_cast<std::uint32_t>(*word_++);
      return true;
    }
    event->place = places_[rest & Stream::mask(Stream::place_bits)];
    event->tag = static_cast<std::int32_t>(rest >> Stream::place_bits);
    if (event->kind == EventKind::post) {
      event->number = next_number_++;
      under_way_[event->number] = {event->place, event->tag};
    }
    return true;
  }
  return false;
}

}  // namespace unisono::runtime
