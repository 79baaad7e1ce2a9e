// SPDX-License-Identifier: BSD-3-Clause
// What a rank's messages and receives did, written down in a word or two an event. Memory that nobody has
// touched costs more than all else, so events are kept short: what repeats is said once. It is bounded: when
// it is full what comes later is left out. B8.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ticks.h"

namespace unisono::runtime {

enum class EventKind : std::uint8_t { send, post, done, cancel, probe, arrive, sample };

// Whom with, in what communicator, and how long: what most events of a program have in common with others.
struct EventPlace {
  std::uint32_t context = 0;
  std::int32_t peer = 0;  // -1: any
  std::uint64_t bytes = 0;

  bool operator==(const EventPlace&) const = default;
};

// An event as it is read again. Receives are numbered in the order of their posts.
struct RecordedEvent {
  std::uint64_t ticks = 0;
  EventKind kind = EventKind::send;
  std::uint32_t number = 0;
  std::int32_t tag = 0;  // -1: any
  EventPlace place;      // of one that is done: as it was posted, with the peer that it has got
  // Of a sample: how many messages (`place.bytes`) and receives (`number`) wait in a communicator's queues.
};

// Not for several threads at once: who has some holds a lock.
class EventStream {
 public:
  // Takes as much address space; memory comes when it is written to.
  explicit EventStream(std::uint64_t bytes);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // From now on. The first memory is touched here, so that the first messages need not wait for it.
  void start();
  void stop() { is_on_ = false; }
  bool is_on() const { return is_on_; }

  void sent(std::uint64_t ticks, const EventPlace& place, std::int32_t tag) {
    if (has_room(ticks)) put_placed(EventKind::send, ticks, place, tag);
  }
  // Returns the receive's number.
  std::uint32_t posted(std::uint64_t ticks, const EventPlace& place, std::int32_t tag) {
    if (!has_room(ticks)) return no_number;
    put_placed(EventKind::post, ticks, place, tag);
    return next_number_++;
  }
  void probed(std::uint64_t ticks, const EventPlace& place, std::int32_t tag) {
    if (has_room(ticks)) put_placed(EventKind::probe, ticks, place, tag);
  }
  void arrived(std::uint64_t ticks, const EventPlace& place, std::int32_t tag) {
    if (has_room(ticks)) put_placed(EventKind::arrive, ticks, place, tag);
  }
  // A receive without wildcards: it has got what it asked for.
  void done(std::uint64_t ticks, std::uint32_t number) {
    if (number != no_number && has_room(ticks)) put(EventKind::done, ticks, number);
  }
  void done(std::uint64_t ticks, std::uint32_t number, std::int32_t peer, std::int32_t tag) {
    if (number == no_number || !has_room(ticks)) return;
    put(EventKind::done, ticks, number | is_told);
    *next_++ = std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | static_cast<std::uint32_t>(tag);
  }
  void cancelled(std::uint64_t ticks, std::uint32_t number) {
    if (number != no_number && has_room(ticks)) put(EventKind::cancel, ticks, number);
  }
  // What the MPI says of a communicator's queues.
  void sampled(std::uint64_t ticks, std::uint32_t context, std::uint64_t messages, std::uint64_t receives) {
    if (!has_room(ticks)) return;
    put(EventKind::sample, ticks, context);
    *next_++ =
        std::min<std::uint64_t>(messages, UINT32_MAX) << 32 | std::min<std::uint64_t>(receives, UINT32_MAX);
  }

  // From then on nothing was written; UINT64_MAX: all was.
  std::uint64_t full_ticks() const { return full_ticks_; }
  // Do all come in the order of time?
  bool is_in_order() const { return is_in_order_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t used_bytes() const { return static_cast<std::uint64_t>(next_ - begin_) * sizeof *begin_; }

  // Never before the last event: for who writes them down in the order in which they happen.
  std::uint64_t now() const { return std::max(ticks(), last_ticks_); }

  // Of receives that came when the memory was full.
  static constexpr std::uint32_t no_number = UINT32_MAX;

 private:
  friend class EventReader;
  // A word: its kind, ticks since the last one, the number of its place, its tag; or, instead of the latter
  // two, a receive's number. Two more kinds stand for what is said beside.
  static constexpr int kind_bits = 4, ticks_bits = 18, place_bits = 10, low_bits = kind_bits + ticks_bits;
  static constexpr std::uint64_t time_word = 14;   // all other bits: ticks since the start
  static constexpr std::uint64_t place_word = 15;  // its number and context, then its peer and its bytes
  static constexpr std::uint64_t is_told = std::uint64_t{1} << 32;
  static constexpr std::ptrdiff_t most_words = 6;  // of one event
  static constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

  bool has_room(std::uint64_t ticks) {
    if (end_ - next_ >= most_words) [[likely]]
      return true;
    if (full_ticks_ == UINT64_MAX) full_ticks_ = ticks;
    end_ = next_;
    return false;
  }
  void put(EventKind kind, std::uint64_t ticks, std::uint64_t rest) {
    std::uint64_t since = ticks - last_ticks_;
    if (since > mask(ticks_bits)) [[unlikely]] {
      if (static_cast<std::int64_t>(since) < 0) is_in_order_ = false;
      if (static_cast<std::int64_t>(ticks - start_ticks_) < 0) ticks = start_ticks_;
      *next_++ = time_word | (ticks - start_ticks_) << kind_bits;
      since = 0;
    }
    last_ticks_ = ticks;
    ++count_;
    *next_++ = static_cast<std::uint64_t>(kind) | since << kind_bits | rest << low_bits;
  }
  void put_placed(EventKind kind, std::uint64_t ticks, const EventPlace& place, std::int32_t tag) {
    const std::uint64_t hash =
        (place.bytes * 0x9E3779B97F4A7C15ULL +
         (std::uint64_t{place.context} << 32 ^ static_cast<std::uint32_t>(place.peer))) *
        0xFF51AFD7ED558CCDULL;
    const std::uint64_t number = hash >> (64 - place_bits);
    if (places_[number] != place) [[unlikely]]
      put_place(number, place);
    put(kind, ticks, number | std::uint64_t{static_cast<std::uint32_t>(tag)} << place_bits);
  }
  void put_place(std::uint64_t number, const EventPlace& place);

  std::uint64_t *begin_ = nullptr, *next_ = nullptr, *end_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t start_ticks_ = 0, last_ticks_ = 0, full_ticks_ = UINT64_MAX;
  std::uint64_t count_ = 0;
  std::uint32_t next_number_ = 0;
  bool is_on_ = false, is_in_order_ = true;
  std::array<EventPlace, std::size_t{1} << place_bits> places_;
};

// Goes through a stream's events in the order in which they were written.
class EventReader {
 public:
  explicit EventReader(const EventStream& stream)
      : stream_(stream), word_(stream.begin_), now_(stream.start_ticks_), places_(stream.places_.size()) {}

  // False: there is none any more.
  bool next(RecordedEvent* event);

 private:
  struct Receive {
    EventPlace place;
    std::int32_t tag;
  };
  void take_number(std::uint64_t rest, RecordedEvent* event);

  const EventStream& stream_;
  const std::uint64_t* word_;
  std::uint64_t now_;
  std::uint32_t next_number_ = 0;
  std::vector<EventPlace> places_;
  std::unordered_map<std::uint32_t, Receive> under_way_;
};

}  // namespace unisono::runtime
