// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/allocator.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace unisono::shm {
namespace {

constexpr std::size_t unit_bytes = 4096;
constexpr std::chrono::seconds longest_wait{2};

}  // namespace

bool Allocator::take_lock() {
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  while (state_->lock.exchange(1, std::memory_order_acquire) != 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::int64_t Allocator::reserve(std::size_t bytes, std::size_t begin, std::size_t end) {
  end = std::min(end, capacity_bytes_);
  if (bytes == 0 || bytes > capacity_bytes_) return -1;
  bytes = (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
  if (!take_lock()) return -1;
  std::int64_t offset = -1;
  if (state_->extents < max_extents) {
    // The first gap that is large enough.
    const std::uint64_t first = std::max(first_byte_, begin);
    std::uint64_t gap = (first + unit_bytes - 1) / unit_bytes * unit_bytes;
    std::size_t at = 0;
    for (; at < state_->extents && state_->extent[at].offset < gap + bytes; ++at) {
      gap = std::max(gap, state_->extent[at].offset + state_->extent[at].bytes);
    }
    if (gap + bytes <= end) {
      auto* const place = state_->extent.begin() + at;
      std::copy_backward(place, state_->extent.begin() + state_->extents,
                         state_->extent.begin() + state_->extents + 1);
      *place = {.offset = gap, .bytes = bytes};
      ++state_->extents;
      offset = static_cast<std::int64_t>(gap);
    }
  }
  drop_lock();
  return offset;
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
