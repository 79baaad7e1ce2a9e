// SPDX-License-Identifier: BSD-3-Clause
// Hands out whole pages of a segment to the processes that share it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace unisono::shm {

inline constexpr std::size_t max_extents = 4096;

// In the shared segment; zero-filled is its initial state. Extents are sorted by offset.
struct AllocatorState {
  struct Extent {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  std::atomic<std::uint32_t> lock;
  std::uint32_t extents;
  std::array<Extent, max_extents> extent;
};

// Offsets between first_byte and capacity_bytes. A rank that was killed while it held the lock would make the
// others wait for ever: they wait for a bounded time, and then the pool counts as full.
class Allocator {
 public:
  Allocator(AllocatorState* state, std::size_t first_byte, std::size_t capacity_bytes)
      : state_(state), first_byte_(first_byte), capacity_bytes_(capacity_bytes) {}

  // -1 where nothing so large is free, between `begin` and `end`, whole pages both.
  std::int64_t reserve(std::size_t bytes, std::size_t begin = 0, std::size_t end = SIZE_MAX);
  // Would reserve() find room?
  bool has_room(std::size_t bytes, std::size_t begin = 0, std::size_t end = SIZE_MAX);
  std::size_t used_bytes();                         // of all
  std::size_t reserved_bytes(std::int64_t offset);  // 0 where nothing was reserved
  void free(std::int64_t offset);

 private:
  bool take_lock();
  void drop_lock() { state_->lock.store(0, std::memory_order_release); }
  AllocatorState::Extent* find(std::int64_t offset);
  // The first gap that is large enough, under the lock.
  struct Gap {
    std::uint64_t offset = 0;
    std::size_t before = 0;  // the extent that follows it
    bool is_found = false;
  };
  Gap find_gap(std::size_t bytes, std::size_t begin, std::size_t end) const;

  AllocatorState* state_;
  std::size_t first_byte_;
  std::size_t capacity_bytes_;
};

}  // namespace unisono::shm
