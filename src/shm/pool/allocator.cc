// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/allocator.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace unisono::shm {
namespace {

constexpr std::size_t unit_bytes = 4096;
constexpr std::chrono::seconds longest_wait{2};

constexpr std::uint64_t whole_units(std::uint64_t bytes) {
  return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

}  // namespace

bool Allocator::take_lock() {
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  while (state_->lock.exchange(1, std::memory_order_acquire) != 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

Allocator::Gap Allocator::find_gap(std::size_t bytes, std::size_t begin, std::size_t end) const {
  end = std::min(end, capacity_bytes_);
  if (bytes == 0 || bytes > capacity_bytes_ || state_->extents == max_extents) return {};
  const std::uint64_t first = std::max(first_byte_, begin);
  Gap gap{.offset = whole_units(first), .before = 0, .is_found = false};
  for (; gap.before < state_->extents; ++gap.before) {
    const AllocatorState::Extent& extent = state_->extent[gap.before];
    if (extent.offset >= gap.offset + whole_units(bytes)) break;
    gap.offset = std::max(gap.offset, extent.offset + extent.bytes);
  }
  gap.is_found = gap.offset + whole_units(bytes) <= end;
  return gap;
}

std::int64_t Allocator::reserve(std::size_t bytes, std::size_t begin, std::size_t end) {
  if (!take_lock()) return -1;
  const Gap gap = find_gap(bytes, begin, end);
  if (gap.is_found) {
    auto* const place = state_->extent.begin() + gap.before;
    std::copy_backward(place, state_->extent.begin() + state_->extents,
                       state_->extent.begin() + state_->extents + 1);
    *place = {.offset = gap.offset, .bytes = whole_units(bytes)};
    ++state_->extents;
  }
  drop_lock();
  return gap.is_found ? static_cast<std::int64_t>(gap.offset) : -1;
}

bool Allocator::has_room(std::size_t bytes, std::size_t begin, std::size_t end) {
  if (!take_lock()) return false;
  const bool is_found = find_gap(bytes, begin, end).is_found;
  drop_lock();
  return is_found;
}

std::size_t Allocator::used_bytes() {
  if (!take_lock()) return 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < state_->extents; ++i) used += state_->extent[i].bytes;
  drop_lock();
  return used;
}

AllocatorState::Extent* Allocator::find(std::int64_t offset) {
  auto* const end = state_->extent.begin() + state_->extents;
  auto* const found =
      std::find_if(state_->extent.begin(), end, [offset](const AllocatorState::Extent& extent) {
        return extent.offset == static_cast<std::uint64_t>(offset);
      });
  return found == end ? nullptr : found;
}

std::size_t Allocator::reserved_bytes(std::int64_t offset) {
  if (!take_lock()) return 0;
  const AllocatorState::Extent* extent = find(offset);
  const std::size_t bytes = extent == nullptr ? 0 : extent->bytes;
  drop_lock();
  return bytes;
}

void Allocator::free(std::int64_t offset) {
  if (!take_lock()) return;
  if (AllocatorState::Extent* extent = find(offset); extent != nullptr) {
    std::copy(extent + 1, state_->extent.begin() + state_->extents, extent);
    --state_->extents;
  }
  drop_lock();
}

}  // namespace unisono::shm
