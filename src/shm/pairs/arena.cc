// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pairs/arena.h"

#include <algorithm>

namespace unisono::shm {
namespace {

constexpr std::uint64_t first_part_lines = (256 << 10) / sizeof(ArenaBlock);
constexpr std::uint64_t growth = 4;
constexpr int laps_before_growth = 4;

}  // namespace

Arena::Arena(void* memory, std::size_t bytes)
    : memory_(static_cast<std::byte*>(memory)),
      lines_(bytes / sizeof(ArenaBlock)),
      part_(std::min(lines_, first_part_lines)) {}

void Arena::reclaim() {
  while (taken_ != 0) {
    const ArenaBlock* oldest = block(tail_);
    if (oldest->is_free.load(std::memory_order_acquire) == 0) return;
    taken_ -= oldest->lines;
    tail_ += oldest->lines;
    if (tail_ == part_) tail_ = 0;
  }
}

std::uint64_t Arena::room() const {
  if (taken_ == 0 || head_ > tail_) return part_ - head_;
  return tail_ - head_;
}

void Arena::end_lap(std::uint64_t wanted) {
  if (part_ < lines_ && (++laps_ >= laps_before_growth || wanted > part_ / 2)) {
    part_ = std::min(lines_, std::max(growth * part_, head_ + wanted));
    laps_ = 0;
    if (room() >= wanted) return;
  }
  const std::uint64_t rest = part_ - head_;
  if (taken_ == 0) {
    tail_ = 0;
  } else if (rest != 0) {
    block(head_)->lines = static_cast<std::uint32_t>(rest);
    block(head_)->is_free.store(1, std::memory_order_relaxed);
    taken_ += rest;
  }
  head_ = 0;
}

void* Arena::take(std::size_t bytes) {
  const std::uint64_t wanted = 1 + (bytes + sizeof(ArenaBlock) - 1) / sizeof(ArenaBlock);
  if (wanted > lines_ / 2) return nullptr;
  if (room() < wanted) {
    reclaim();
    const bool is_at_end = taken_ == 0 || head_ > tail_;
    if (room() < wanted && is_at_end) end_lap(wanted);
    if (room() < wanted) return nullptr;
  }
  if (taken_ == 0) tail_ = head_;
  ArenaBlock* made = block(head_);
  made->lines = static_cast<std::uint32_t>(wanted);
  made->is_free.store(0, std::memory_order_relaxed);
  head_ += wanted;
  taken_ += wanted;
  return made + 1;
}

bool Arena::is_unused() {
  reclaim();
  return taken_ == 0;
}

}  // namespace unisono::shm
