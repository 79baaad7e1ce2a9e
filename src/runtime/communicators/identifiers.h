// SPDX-License-Identifier: BSD-3-Clause
// Agreed numbers for communicators. A communicator's number gives it a range of tags on the private world, so
// two communicators that share processes must have different numbers. Each process keeps the set of numbers
// that are free for it, and set-up takes the lowest one that is free for all members.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "base/mutex.h"

namespace unisono::runtime {

class Identifiers {
 public:
  static constexpr int count = 1 << 12;
  static constexpr int words = count / 64;
  using Set = std::array<std::uint64_t, words>;
  using Turn = std::uint64_t;
  // Persistent calls take those above the middle alone, so that they leave some to communicators.
  enum class Use : std::uint8_t { communicator, persistent_call };

  // The first `usable` numbers are there to be had: as many as the host has tags for.
  explicit Identifiers(int usable = count) : middle_(std::min(usable, count) / 2) {
    for (int id = 0; id < std::min(usable, count); ++id) release(id);
  }

  // This rank's proposal for the turn of a set-up. The highest proposal of a communicator's members is its
  // turn: no other set-up has the same, and whoever came earlier comes before.
  Turn propose(int world_rank) {
    const LockGuard lock(mutex_);
    return proposals_++ << 32 | static_cast<std::uint32_t>(world_rank);
  }
  // From here to the end of a set-up of this turn, those of later turns offer nothing. All members must be
  // on their way: who held numbers for one that first has to set up another communicator would wait for ever.
  void enter(Turn turn) {
    const LockGuard lock(mutex_);
    waiting_.insert(turn);
  }
  void leave(Turn turn) {
    const LockGuard lock(mutex_);
    waiting_.erase(turn);
  }
  // The free numbers. An empty set while another thread's set-up holds them, which must not see the same
  // numbers as free, or comes first. The earliest of all turns is held back nowhere, so some set-up always
  // ends. Where *is_held is set the caller releases with settle().
  Set offer(Turn turn, bool* is_held, Use use = Use::communicator) {
    const LockGuard lock(mutex_);
    *is_held = !is_offered_ && turn == *waiting_.begin();
    if (!*is_held) return Set{};
    is_offered_ = true;
    Set offered = free_;
    for (int id = 0; use == Use::persistent_call && id < middle_; ++id)
      offered[id / 64] &= ~(std::uint64_t{1} << (id % 64));
    return offered;
  }
  // Ends an offer that was held; takes `id` unless negative.
  void settle(int id) {
    const LockGuard lock(mutex_);
    is_offered_ = false;
    if (id >= 0) free_[id / 64] &= ~(std::uint64_t{1} << (id % 64));
  }
  void release(int id) {
    const LockGuard lock(mutex_);
    free_[id / 64] |= std::uint64_t{1} << (id % 64);
  }
  static int lowest(const std::uint64_t* set) {
    for (int w = 0; w < words; ++w) {
      if (set[w] != 0) return w * 64 + __builtin_ctzll(set[w]);
    }
    return -1;
  }

 private:
  const int middle_;
  Mutex mutex_;
  Set free_ UNISONO_GUARDED_BY(mutex_){};
  bool is_offered_ UNISONO_GUARDED_BY(mutex_) = false;
  std::uint64_t proposals_ UNISONO_GUARDED_BY(mutex_) = 0;
  std::set<Turn> waiting_ UNISONO_GUARDED_BY(mutex_);
};

}  // namespace unisono::runtime
