// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a communicator by calls that do not block, which must not wait for it. What ranks tell each
// other, and how they find the call from which on Unisono makes them. docs/inside/communicators.md,
// "Set-up beside the program".
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "host/host.h"
#include "runtime/call/native_reason.h"
#include "runtime/communicators/communicator.h"
#include "shm/slice/slice.h"

namespace unisono::runtime {

// The first of a communicator's calls that is Unisono's, in memory that all its ranks share; zero-filled is
// its initial state. Whoever comes to a call first decides for all who makes it, and waits for nobody: the
// host, until every rank looks here before its calls. Ranks that do not look yet are with the host, however
// far they have come.
class SwitchPoint {
 public:
  // The host has made this rank's calls up to number `last`; before each later one it asks is_past.
  void join(std::uint64_t last) {
    std::uint64_t seen = point_.load(std::memory_order_relaxed);
    while (seen / 2 < last && !point_.compare_exchange_weak(seen, 2 * last, std::memory_order_acq_rel)) {
    }
    joined_.fetch_add(1, std::memory_order_acq_rel);
  }
  // Is call `number`, numbered from 1, Unisono's? The same answer on all of the communicator's `ranks`.
  bool is_past(std::uint64_t number, int ranks) {
    std::uint64_t seen = point_.load(std::memory_order_acquire);
    while (true) {
      if (seen % 2 != 0) return number >= seen / 2;
      if (number <= seen / 2) return false;
      // Who joins raises the number before it counts: where it did since, the exchange fails.
      const bool is_found = joined_.load(std::memory_order_acquire) == ranks;
      const std::uint64_t wanted = 2 * number + (is_found ? 1 : 0);
      if (point_.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel)) return is_found;
    }
  }

 private:
  // Twice the number of a call. Even: the host makes all calls up to that one. Odd: it is the first of ours.
  std::atomic<std::uint64_t> point_;
  std::atomic<std::int32_t> joined_;
};

// Where the node's slice for calls that do not block is, and from which of them on they use it. It lies in
// memory that the ranks share; zero-filled is its initial state. Whoever comes to a call first decides for
// all, and waits for nobody. Where there is no room yet, or another rank is just taking it, that call and
// those before it share the slice of calls that block.
class StartedPlace {
 public:
  // Does call `number`, numbered from 1, use it? The same answer on all the node's ranks. `take` finds room
  // for all: an offset in the pool, or a negative number.
  template <class Take>
  bool is_past(std::uint64_t number, const Take& take) {
    std::uint64_t seen = point_.load(std::memory_order_acquire);
    if (seen % 2 != 0) return number >= seen / 2;
    // A pool that is full may have room later; looking for it at each call would take too long. At the calls
    // in between nobody decides anything.
    if (number <= seen / 2 || !std::has_single_bit(number)) return false;
    const std::uint64_t wanted = 2 * number + (has_room(take) ? 1 : 0);
    while (seen % 2 == 0 && number > seen / 2) {
      if (point_.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel)) return wanted % 2 != 0;
    }
    return seen % 2 != 0 && number >= seen / 2;
  }
  // Its offset in the pool, negative where nobody has taken room.
  std::int64_t offset() const { return place_.load(std::memory_order_acquire) - 1; }

 private:
  // One rank alone takes room: two would find a pool full that has room for one.
  template <class Take>
  bool has_room(const Take& take) {
    if (place_.load(std::memory_order_acquire) != 0) return true;
    if (is_being_taken_.exchange(1, std::memory_order_acq_rel) != 0)
      return place_.load(std::memory_order_acquire) != 0;
    if (place_.load(std::memory_order_acquire) == 0) {
      const std::int64_t taken = take();
      if (taken >= 0) place_.store(taken + 1, std::memory_order_release);
    }
    is_being_taken_.store(0, std::memory_order_release);
    return place_.load(std::memory_order_acquire) != 0;
  }

  // Twice the number of a call. Even: calls up to that one share the other slice. Odd: it is the first that
  // does not.
  std::atomic<std::uint64_t> point_;
  std::atomic<std::int64_t> place_;  // its offset and 1
  std::atomic<std::int32_t> is_being_taken_;
};

// Behind a slice in the pool.
struct SliceTail {
  std::atomic<std::int32_t> users;  // local ranks that have not left it
  SwitchPoint switch_point;
  StartedPlace started;

  static SliceTail* of(const Communicator& c) {
    return at(c.node.pool->address(c.node.slice_offset), c.node.slice->shape());
  }
  static SliceTail* at(void* slice, const shm::SliceShape& shape) {
    return reinterpret_cast<SliceTail*>(static_cast<char*>(slice) + shape.bytes());
  }
};
static_assert(sizeof(SliceTail) <= shm::cache_line_bytes);

// What a node's first rank has taken of the pool for all.
struct SliceOffer {
  std::int64_t offset = -1;       // -1: there is none.
  std::int64_t stream_bytes = 0;  // SliceShape. Where the pool has no room for streams a slice goes without.
  std::int32_t windows = 0;       // Of the pool that this rank has mapped.
  std::int64_t area_bytes = 0;    // SliceShape, of a persistent call's place; 0: as much as a communicator's
};

// What a rank tells the others when a set-up begins.
struct SetUpOffer {
  std::uint64_t abilities = 0;
  SliceOffer slice;  // of the first rank: what it took for all
};

struct SetUpAside {
  enum class State : std::uint8_t {
    left_out,   // All ranks know at once that there will be none: `reason`.
    under_way,  // The offers are on their way.
    failed,     // There is a `reason`.
    joined,     // This rank has its slice, and looks at the switch point before each call.
    past        // All calls are Unisono's.
  } state = State::under_way;
  NativeReason reason = NativeReason::being_set_up;
  SetUpOffer own;
  std::vector<SetUpOffer> all;  // by rank
  host::Request request{};
  std::uint64_t calls = 0;  // that do not block, since the set-up began
  SwitchPoint* switch_point = nullptr;
};

}  // namespace unisono::runtime
