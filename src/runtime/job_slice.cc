// SPDX-License-Identifier: BSD-3-Clause
// A communicator's slice of the node's pool: who takes the memory, who uses it, who gives it back.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/call_queue.h"
#include "runtime/job.h"
#include "runtime/set_up_aside.h"

namespace unisono::runtime {
namespace {

const std::vector<int>& local_ranks(const Communicator& c) {
  const int node = c.layout->node_of[static_cast<std::size_t>(c.rank)];
  return c.layout->ranks_of[static_cast<std::size_t>(node)];
}
int local_rank(const Communicator& c) {
  return c.layout->local_rank_of[static_cast<std::size_t>(c.rank)];
}

}  // namespace

Communicator::Communicator() = default;

Communicator::~Communicator() {
  if (slice_offset < 0) return;
  SliceTail* tail = SliceTail::of(*this);
  slice.reset();
  // Other ranks may still be reading what they were sent: the last one to leave gives the memory back.
  if (tail->users.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->release(slice_offset);
}

shm::SliceShape Job::slice_shape(const Communicator& c) const {
  constexpr std::size_t page_bytes = 4096;
  constexpr std::size_t least_area_bytes = 16 * 1024;
  const std::size_t locals = local_ranks(c).size();
  shm::SliceShape shape{.local_size = static_cast<int>(locals)};
  const std::size_t share = static_cast<std::size_t>(options_.channel_bytes) / locals;
  shape.area_bytes = locals == 1 ? page_bytes : std::max(least_area_bytes, share / page_bytes * page_bytes);
  // What one rank has written the next one finds in their common core's caches, as long as it is little.
  shape.is_spread = std::ranges::none_of(local_ranks(c), [&](int rank) {
    return cores_[static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(rank)])].is_crowded;
  });
  return shape;
}

// A node's first rank takes the memory for all.
std::int64_t Job::reserve_slice(const Communicator& c) {
  if (local_rank(c) != 0 || !pool_->is_available() || !options_.use_shared_memory) return -1;
  const shm::SliceShape shape = slice_shape(c);
  const std::int64_t offset = pool_->allocate(shape.bytes() + shm::cache_line_bytes);
  if (offset < 0) return offset;
  new (SliceTail::at(pool_->address(offset), shape))
      SliceTail{.users = static_cast<std::int32_t>(local_ranks(c).size()), .switch_point = {}};
  return offset;
}

void Job::attach_slice(Communicator& c) {
  const std::int64_t offset = reserve_slice(c);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(c.size));
  const int error = host_.allgather_bytes(&offset, sizeof offset, offsets.data(), c.handle);
  bool is_everywhere = error == host::success;
  for (const auto& ranks : c.layout->ranks_of)
    is_everywhere = is_everywhere && offsets[static_cast<std::size_t>(ranks.front())] >= 0;
  if (!is_everywhere) {
    // Without a slice on every node no algorithm may use shared memory; every rank becomes a node of its own.
    if (offset >= 0) pool_->release(offset);
    say_pool_is_full();
    return;
  }
  use_slice(c, offsets[static_cast<std::size_t>(local_ranks(c).front())]);
}

void Job::use_slice(Communicator& c, std::int64_t offset) {
  c.pool = pool_.get();
  c.slice_offset = offset;
  std::vector<int> process_ids;
  for (int r : local_ranks(c)) {
    const auto in_world = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(r)]);
    process_ids.push_back(pool_->process_ids()[in_world]);
  }
  c.slice = std::make_unique<shm::Slice>(pool_->address(offset), slice_shape(c), local_rank(c), c.wait,
                                         process_ids.data());
}

void Job::say_pool_is_full() {
  if (world_rank_ != 0 || !options_.use_shared_memory || !pool_->is_available()) return;
  const std::lock_guard lock(decide_mutex_);
  if (std::exchange(is_pool_full_said_, true)) return;
  warnings_.push_back(
      "the node's pool of shared memory is full (option 'pool_bytes'): a communicator goes without");
  log::warning(warnings_.back());
}

}  // namespace unisono::runtime
