// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pairs/arena.h"

#include <algorithm>
#include <bit>

namespace unisono::shm {
namespace {

constexpr std::size_t line_bytes = 64;
// The shortest message that does not go by a ring alone takes five lines.
constexpr std::size_t lines_per_block = 4;
constexpr std::uint64_t first_part_lines = (32 << 10) / line_bytes;
// A page that nobody has touched takes as long as some ten KiB of messages, on some machines a hundred. So
// that it does not count, each page in use has carried more than that before another one is taken.
constexpr int laps_before_growth = 64;
constexpr int laps_of_a_refusal = 4;
// A longer part is of use only where readers are behind.
constexpr std::uint64_t most_part_lines = (256 << 10) / line_bytes;
constexpr std::uint64_t growth = 2;
constexpr std::uint64_t blocks_in_part = 4;  // at least

// A name has the block's first line, counted from the arena's memory on, the place of its byte, and what is
// written there.
constexpr int line_shift = 32, mark_bits = 2, number_bits = 22;

constexpr std::uint64_t to_lines(std::uint64_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes;
}

}  // namespace

Arena::Arena(void* memory, std::size_t bytes)
    : memory_(static_cast<std::byte*>(memory)), freed_(static_cast<std::atomic<std::uint8_t>*>(memory)) {
  const std::uint64_t all = bytes / line_bytes;
  blocks_.resize(std::bit_floor(std::clamp<std::uint64_t>(all / lines_per_block, 1, 1U << number_bits)));
  first_ = to_lines(blocks_.size());
  lines_ = all - first_;
  part_ = std::min(lines_, first_part_lines);
}

std::size_t Arena::most_bytes() const {
  return lines_ / 2 * line_bytes;
}

void Arena::reclaim() {
  while (oldest_ != newest_) {
    const Block& oldest = block(oldest_);
    if (freed_[place_of(oldest_)].load(std::memory_order_acquire) != oldest.mark) return;
    taken_ -= oldest.lines;
    tail_ += oldest.lines;
    if (tail_ == part_) tail_ = 0;
    ++oldest_;
  }
}

std::uint64_t Arena::room() const {
  if (taken_ == 0 || head_ > tail_) return part_ - head_;
  return tail_ - head_;
}

void Arena::add(std::uint64_t lines) {
  Block& made = block(newest_);
  made.lines = static_cast<std::uint32_t>(lines);
  // Another one than that of the byte's last block.
  made.mark = made.mark == 1 ? 2 : 1;
  ++newest_;
  if (taken_ == 0) tail_ = head_;
  head_ += lines;
  taken_ += lines;
}

void Arena::grow(std::uint64_t wanted) {
  part_ = std::min(lines_, std::max(growth * part_, head_ + wanted));
  worn_ = 0;
}

// Only where head_ lies behind tail_, or nothing is taken: what is in use must be in one piece.
void Arena::end_lap(std::uint64_t wanted) {
  if (part_ < most_part_lines) ++worn_;
  if (part_ < lines_ && (worn_ >= laps_before_growth || wanted * blocks_in_part > part_)) {
    grow(wanted);
    if (room() >= wanted) return;
  }
  const std::uint64_t rest = part_ - head_;
  if (taken_ == 0) {
    tail_ = 0;
  } else if (rest != 0) {
    if (has_most_blocks()) return;
    freed_[place_of(newest_)].store(block(newest_).mark == 1 ? 2 : 1, std::memory_order_relaxed);
    add(rest);
  }
  head_ = 0;
}

ArenaPlace Arena::take(std::size_t bytes) {
  const std::uint64_t wanted = std::max<std::uint64_t>(to_lines(bytes), 1);
  if (wanted > lines_ / 2) return {};
  if (room() < wanted || has_most_blocks()) {
    reclaim();
    const bool is_at_end = taken_ == 0 || head_ > tail_;
    if (room() < wanted && is_at_end) end_lap(wanted);
    if (room() < wanted || has_most_blocks()) {
      worn_ += laps_of_a_refusal;
      return {};
    }
  }
  const std::uint64_t line = first_ + head_, number = place_of(newest_);
  add(wanted);
  const std::uint64_t mark = blocks_[number].mark;
  return {.data = memory_ + line * line_bytes, .name = line << line_shift | number << mark_bits | mark};
}

bool Arena::is_unused() {
  reclaim();
  return taken_ == 0;
}

const void* arena_address(const void* memory, std::uint64_t name) {
  return static_cast<const std::byte*>(memory) + (name >> line_shift) * line_bytes;
}

void free_in_arena(void* memory, std::uint64_t name) {
  const auto number = static_cast<std::uint32_t>(name) >> mark_bits & ((1U << number_bits) - 1);
  static_cast<std::atomic<std::uint8_t>*>(memory)[number].store(name & ((1U << mark_bits) - 1),
                                                                std::memory_order_release);
}

}  // namespace unisono::shm
