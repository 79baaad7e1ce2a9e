// SPDX-License-Identifier: BSD-3-Clause
// What ranks of a node send each other by itself, whatever collectives they make: a ring for each ordered
// pair, and an arena for each sender. M10.
//
// Memory that no pair uses is not touched: a rank looks only at the rings of those that have sent it
// something.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shm/pairs/arena.h"
#include "shm/pairs/ring.h"
#include "shm/slice/wait.h"

namespace unisono::shm {

// How much the rings and arenas of a node take, so that all its ranks compute the same.
struct MailboxShape {
  static constexpr int most_ranks = 4096;
  int ranks = 1;
  std::size_t arena_bytes = 0;  // of each rank; a multiple of the page size
  std::size_t bytes() const;
  // Longer than a core's own cache where memory allows: 4 MiB, and less for many ranks.
  static std::size_t arena_bytes_of(int ranks);
};

// One rank's view. Calls that write, and calls that read, are each of one thread at a time; both may go on
// side by side.
class Mailbox {
 public:
  // `memory` is zero-filled, shared by the node's ranks, page aligned, shape.bytes() long, and outlives this.
  // `policy`: the same on all ranks.
  Mailbox(void* memory, const MailboxShape& shape, int rank, WaitPolicy policy);

  int ranks() const { return shape_.ranks; }
  int rank() const { return rank_; }

  // --- Writing ---
  bool has_room(int to, std::size_t bytes) { return writers_[index(to)].has_room(bytes); }
  // Only where there is room. Wakes the reader where it sleeps.
  void write(int to, const RingItem& item, const void* data, std::size_t bytes);
  Arena& arena() { return arena_; }
  // Does `to` ask for headers alone, since it has more than it can keep?
  bool wants_headers_only(int to) const {
    return place_of(to)->wants_headers_only.load(std::memory_order_relaxed) != 0;
  }

  // --- Reading ---
  // Calls `take(from, reader)` for each rank that something has come from, once for each of its items, as
  // long as it returns true; it is to drop what it takes. First those from `preferred`, where that is a rank.
  template <class Take>
  int poll(Take take, int preferred = -1) {
    int taken = preferred < 0 ? 0 : poll_one(preferred, take);
    look_for_senders();
    for (const int from : senders_) taken += poll_one(from, take);
    return taken;
  }
  // What `from` has in its arena, at the offset that an item says.
  const void* in_arena(int from, std::uint64_t offset) const { return arena_address(arena_of(from), offset); }
  void free_in_arena(int from, std::uint64_t offset) { shm::free_in_arena(arena_of(from), offset); }

  void want_headers_only(bool wants) {
    place_of(rank_)->wants_headers_only.store(wants ? 1 : 0, std::memory_order_relaxed);
  }

  // Where this rank sleeps that waits for others (policy futex).
  Doorbell* doorbell() { return &place_of(rank_)->doorbell; }

 private:
  friend struct MailboxShape;
  // Of each rank, in front of all: where it sleeps, and who has ever sent it something.
  struct Place {
    Doorbell doorbell;
    alignas(64) std::atomic<std::uint64_t> news;  // how many ranks have begun to send to this one
    std::atomic<std::uint32_t> wants_headers_only;
    std::atomic<std::uint64_t> has_sent[MailboxShape::most_ranks / 64];  // a bit each
  };
  static std::size_t ring_bytes(int ranks);

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  Place* place_of(int rank) const;
  RingMemory* ring_of(int from, int to) const;
  void* arena_of(int rank) const;
  void look_for_senders() {
    if (place_of(rank_)->news.load(std::memory_order_acquire) != known_news_) add_senders();
  }
  void add_senders();
  template <class Take>
  int poll_one(int from, Take take) {
    RingReader& reader = readers_[index(from)];
    int taken = 0;
    while (reader.peek() != nullptr && take(from, reader)) ++taken;
    return taken;
  }

  std::byte* memory_;
  MailboxShape shape_;
  int rank_;
  bool wakes_readers_;
  Arena arena_;
  std::vector<RingWriter> writers_;
  std::vector<RingReader> readers_;
  std::vector<bool> has_begun_;  // to send to a rank
  std::vector<int> senders_;
  std::uint64_t known_news_ = 0;
};

}  // namespace unisono::shm
