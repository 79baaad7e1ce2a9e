// SPDX-License-Identifier: BSD-3-Clause
// Where a rank puts what is too long for a ring's lines: memory that it hands out in turn, and that readers
// free. M10.
//
// Blocks lie one behind the other, and the arena is gone through again and again. It begins with a small
// part, since pages that were never touched are slow, and goes on to more of it where readers are behind.
// What they have read they give back (fetch.h), so that a small part is as fast as the whole.
//
// That a block is free is told by a byte of its own, aside of all blocks. So the lines of a block go to the
// reader only, and a line with many such bytes comes back once for all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono::shm {

// A block's bytes, for its writer, and what its readers call it: arena_address(), free_in_arena(). Eight bits
// of a name, from the 24th on, mean nothing to the arena.
struct ArenaPlace {
  std::byte* data = nullptr;
  std::uint64_t name = 0;
};

// The writer's side. One thread at a time.
class Arena {
 public:
  // `memory` is zero-filled, cache-line aligned and shared.
  Arena(void* memory, std::size_t bytes);

  // A place for `bytes`, cache-line aligned. Its data is null where readers have not freed enough.
  ArenaPlace take(std::size_t bytes);
  // The longest place that is ever handed out: half of the arena, so that two may be under way.
  std::size_t most_bytes() const;
  // Have all places been freed?
  bool is_unused();

 private:
  struct Block {
    std::uint32_t lines;
    std::uint8_t mark;  // what its reader writes to free it
  };

  std::size_t place_of(std::uint64_t number) const { return number & (blocks_.size() - 1); }
  Block& block(std::uint64_t number) { return blocks_[place_of(number)]; }
  bool has_most_blocks() const { return newest_ - oldest_ == blocks_.size(); }
  void reclaim();
  // Lines from head_ on that may be taken as one block.
  std::uint64_t room() const;
  // Goes on at the beginning, or to a longer part.
  void end_lap(std::uint64_t wanted);
  void grow(std::uint64_t wanted);
  void add(std::uint64_t lines);

  std::byte* memory_;
  std::atomic<std::uint8_t>* freed_;       // a byte for each block that may be under way, used in turn
  std::uint64_t first_, lines_;            // where the blocks' lines begin, and how many there are
  std::uint64_t part_;                     // lines in use, so far
  int worn_ = 0;                           // how much this part has been used
  std::uint64_t head_ = 0;                 // where the next block begins
  std::uint64_t tail_ = 0;                 // the oldest block that may be taken still
  std::uint64_t taken_ = 0;                // lines between them
  std::vector<Block> blocks_;              // those under way, a power of two of them at most
  std::uint64_t newest_ = 0, oldest_ = 0;  // counted on and on; equal: none is under way
};

// The reader's side: what a writer took by this name, and that it may be taken again.
const void* arena_address(const void* memory, std::uint64_t name);
void free_in_arena(void* memory, std::uint64_t name);

}  // namespace unisono::shm
