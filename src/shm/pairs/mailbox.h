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

#include "base/clock.h"
#include "shm/pairs/arena.h"
#include "shm/pairs/copy_way.h"
#include "shm/pairs/fetch.h"
#include "shm/pairs/ring.h"
#include "shm/slice/wait.h"

namespace unisono::shm {

// How much the rings and arenas of a node take, so that all its ranks compute the same.
struct MailboxShape {
  static constexpr int most_ranks = 4096;
  int ranks = 1;
  std::size_t arena_bytes = 0;  // of each rank; a multiple of the page size
  int ring_lines = least_ring_lines;
  std::size_t bytes() const;
  // 4 MiB, and less where there are many ranks: 32 MiB for a node.
  static std::size_t arena_bytes_of(int ranks);
  // 64. Where ranks share cores a reader comes to its turn once for a ring that is full: up to 512 then. All
  // rings together take no more than 16 MiB for that.
  static int ring_lines_of(int ranks, bool is_crowded);
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
  // A place in the arena for what `to` shall read, with the data; the name is 0 where there is none. It may
  // be a piece of a message of `message_bytes`.
  std::uint64_t put_into_arena(int to, const void* data, std::size_t bytes, std::size_t message_bytes);
  // The longest that it ever has a place for.
  std::size_t most_bytes_in_arena() const { return arenas_[0].most_bytes(); }
  // Has all been read that was put there?
  bool is_arena_unused() { return arenas_[0].is_unused() && arenas_[1].is_unused(); }
  // Does `to` ask for headers alone, since it has more than it can keep?
  bool wants_headers_only(int to) const {
    return place_of(to)->wants_headers_only.load(std::memory_order_relaxed) != 0;
  }

  // --- Reading ---
  // Calls `take(from, reader)` for each item that has come, first those from `preferred`, where that is a
  // rank. It is to drop what it takes, and says whether to go on. Returns how many it got.
  template <class Take>
  int poll(Take take, int preferred = -1) {
    int taken = 0;
    if (preferred >= 0 && !poll_one(preferred, take, &taken)) return taken;
    look_for_senders();
    for (const int from : senders_) {
      if (!poll_one(from, take, &taken)) break;
    }
    return taken;
  }
  // Calls `use(data)` with the `bytes` that `from` has put into its arena, by the name that an item says. Its
  // place is free then.
  template <class Use>
  void read_arena(int from, std::uint64_t name, std::size_t bytes, Use use) {
    std::byte* arena = arena_of(from, (name & streamed) != 0);
    const int timed = timed_of(name);
    const std::uint64_t begin = timed < 0 ? 0 : now_ns();
    const void* data = arena_address(arena, name);
    use(data);
    if ((name & streamed) == 0) give_back(data, bytes);
    free_in_arena(arena, name);
    if (timed >= 0) [[unlikely]]
      tell_time(from, timed, now_ns() - begin);
  }

  void want_headers_only(bool wants) {
    place_of(rank_)->wants_headers_only.store(wants ? 1 : 0, std::memory_order_relaxed);
  }

  // Where this rank sleeps that waits for others (policies futex and sleep).
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
  static std::size_t rings_bytes(const MailboxShape& shape);

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  Place* place_of(int rank) const;
  // What one rank writes, and the other one reads: behind the times comes a ring.
  static std::size_t pair_bytes(const MailboxShape& shape) {
    return sizeof(ReaderTimes) + RingMemory::bytes(shape.ring_lines);
  }
  ReaderTimes* times_of(int from, int to) const;
  RingPlace ring_of(int from, int to) const;
  // What has been copied past the caches has a half of its own.
  std::byte* arena_of(int rank, bool is_streamed) const;
  // A name says as well how its data was copied, and of copies that are timed their number.
  static constexpr int timed_shift = 24;
  static constexpr std::uint64_t most_timed = 15, streamed = std::uint64_t{1} << 31;
  static int timed_of(std::uint64_t name) { return static_cast<int>(name >> timed_shift & most_timed) - 1; }
  void tell_time(int from, int timed, std::uint64_t ns);
  void look_for_senders() {
    if (place_of(rank_)->news.load(std::memory_order_acquire) != known_news_) add_senders();
  }
  void add_senders();
  // False: `take` does not go on.
  template <class Take>
  bool poll_one(int from, Take& take, int* taken) {
    RingReader& reader = readers_[index(from)];
    for (int got = 0; reader.peek() != nullptr; ++got) {
      if (got != 0) reader.fetch_ahead();
      ++*taken;
      if (!take(from, reader)) return false;
    }
    return true;
  }

  std::byte* memory_;
  MailboxShape shape_;
  int rank_;
  bool wakes_readers_;
  Arena arenas_[2];  // the second one for copies past the caches
  std::vector<RingWriter> writers_;
  std::vector<RingReader> readers_;
  std::vector<CopyWay> ways_;    // into the arena, by who reads it
  std::vector<bool> has_begun_;  // to send to a rank
  std::vector<int> senders_;
  std::uint64_t known_news_ = 0;
};

}  // namespace unisono::shm
