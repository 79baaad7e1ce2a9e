// SPDX-License-Identifier: BSD-3-Clause
// Where a rank puts what is too long for a ring's lines: memory that it hands out in turn, and that readers
// free. M10.
//
// Blocks lie one behind the other, and the whole arena is gone through again and again. So a block's lines
// have left the reader's cache by the time they are written once more, which is much faster than to take
// them back. The arena begins with a part and goes on to more of it after some laps, since pages that were
// never touched are slow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace unisono::shm {

// In front of each block's bytes.
struct alignas(64) ArenaBlock {
  std::atomic<std::uint32_t> is_free;
  std::uint32_t lines;  // with this one; the writer's own
};

// The writer's side. One thread at a time.
class Arena {
 public:
  // `memory` is zero-filled, cache-line aligned and shared.
  Arena(void* memory, std::size_t bytes);

  // A place for `bytes`, cache-line aligned, or null where readers have not freed enough.
  void* take(std::size_t bytes);
  // Where it lies, for the reader: arena_address().
  std::uint64_t offset(const void* place) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - memory_);
  }
  // The longest place that is ever handed out: half of the arena, so that two may be under way.
  std::size_t most_bytes() const { return (lines_ / 2 - 1) * sizeof(ArenaBlock); }
  // Have all places been freed?
  bool is_unused();

 private:
  ArenaBlock* block(std::uint64_t line) const {
    return reinterpret_cast<ArenaBlock*>(memory_ + line * sizeof(ArenaBlock));
  }
  void reclaim();
  // Lines from head_ on that may be taken as one block.
  std::uint64_t room() const;
  // Goes on at the beginning, or to a longer part.
  void end_lap(std::uint64_t wanted);

  std::byte* memory_;
  std::uint64_t lines_;
  std::uint64_t part_;       // lines in use, so far
  int laps_ = 0;             // through this part
  std::uint64_t head_ = 0;   // where the next block begins
  std::uint64_t tail_ = 0;   // the oldest block that may be taken still
  std::uint64_t taken_ = 0;  // lines between them
};

// The reader's side: what a writer took at this offset, and that it may be taken again.
inline const void* arena_address(const void* memory, std::uint64_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}
inline void free_in_arena(void* memory, std::uint64_t offset) {
  auto* block = reinterpret_cast<ArenaBlock*>(static_cast<std::byte*>(memory) + offset) - 1;
  block->is_free.store(1, std::memory_order_release);
}

}  // namespace unisono::shm
