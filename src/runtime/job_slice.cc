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
  started_slice.reset();
  slice.reset();
  // Other ranks may still be reading what they were sent: the last one to leave gives the memory back.
  if (tail->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::int64_t of_started = tail->started.find().value_or(StartedPlace::nowhere);
  if (of_started >= 0) pool->release(of_started);
  pool->release(slice_offset);
}

// Only operations inside one node use streams.
std::int64_t Job::wanted_stream_bytes(const Communicator& c) const {
  if (c.layout->nodes() > 1) return 0;
  const auto channel_bytes = static_cast<std::size_t>(options_.channel_bytes);
  return static_cast<std::int64_t>(shm::SliceShape::stream_bytes_of(c.size, channel_bytes));
}

shm::SliceShape Job::slice_shape(const Communicator& c, std::int64_t stream_bytes) const {
  constexpr std::size_t page_bytes = 4096;
  constexpr std::size_t least_area_bytes = 16 * 1024;
  const std::size_t locals = local_ranks(c).size();
  shm::SliceShape shape{.local_size = static_cast<int>(locals),
                        .stream_bytes = static_cast<std::size_t>(stream_bytes)};
  const std::size_t share = buffer_bytes(locals);
  shape.area_bytes = locals == 1 ? page_bytes : std::max(least_area_bytes, share / page_bytes * page_bytes);
  // What one rank has written the next one finds in their common core's caches, as long as it is little.
  shape.is_spread = std::ranges::none_of(local_ranks(c), [&](int rank) {
    return cores_[static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(rank)])].is_crowded;
  });
  return shape;
}

// What was measured holds as long as all ranks together stay within some times what they have by themselves.
std::size_t Job::buffer_bytes(std::size_t locals) const {
  constexpr std::size_t most_factor = 4;
  const auto standard = static_cast<std::size_t>(options_.channel_bytes);
  const auto measured = static_cast<std::size_t>(measured_choices_.buffer_bytes);
  if (measured == 0) return standard / locals;
  return std::min(measured, most_factor * standard / locals);
}

// A node's first rank takes the memory for all, of so many windows of the pool (shm::Pool::allocate).
SliceOffer Job::reserve_slice(const Communicator& c, int windows) {
  SliceOffer offer{.windows = pool_->mapped_windows()};
  if (local_rank(c) != 0 || !pool_->is_available() || !options_.use_shared_memory) return offer;
  offer.stream_bytes = wanted_stream_bytes(c);
  const auto allocate = [&] {
    const std::size_t bytes = slice_shape(c, offer.stream_bytes).bytes() + shm::cache_line_bytes;
    offer.offset = pool_->allocate(bytes, windows);
    return offer.offset >= 0;
  };
  if (!allocate()) {
    if (std::exchange(offer.stream_bytes, 0) == 0 || !allocate()) return offer;
  }
  new (SliceTail::at(pool_->address(offer.offset), slice_shape(c, offer.stream_bytes)))
      SliceTail{.users = static_cast<std::int32_t>(local_ranks(c).size()), .switch_point = {}, .started = {}};
  return offer;
}

// True where there is a slice on every node. Without that no algorithm may use shared memory; every rank
// becomes a node of its own.
bool Job::offer_slices(Communicator& c, int windows, std::vector<SliceOffer>* offers) {
  const SliceOffer own = reserve_slice(c, windows);
  offers->assign(static_cast<std::size_t>(c.size), {});
  bool is_everywhere = host_.allgather_bytes(&own, sizeof own, offers->data(), c.handle) == host::success;
  for (const auto& ranks : c.layout->ranks_of)
    is_everywhere = is_everywhere && (*offers)[static_cast<std::size_t>(ranks.front())].offset >= 0;
  if (!is_everywhere && own.offset >= 0) pool_->release(own.offset);
  return is_everywhere;
}

// Where the pool is full as far as it is mapped all map more of it, as long as all can.
void Job::attach_slice(Communicator& c) {
  std::vector<SliceOffer> offers;
  const auto least_windows = [&] { return std::ranges::min(offers, {}, &SliceOffer::windows).windows; };
  bool is_everywhere = offer_slices(c, 0, &offers);
  for (int before = 0; !is_everywhere && options_.use_shared_memory && least_windows() > before;) {
    before = least_windows();
    const bool is_whole = before == shm::Pool::every_window;
    SliceOffer own{.windows = pool_->mapped_windows(is_whole ? 0 : before + 1)};
    if (host_.allgather_bytes(&own, sizeof own, offers.data(), c.handle) != host::success) break;
    is_everywhere = offer_slices(c, least_windows(), &offers);
  }
  if (!is_everywhere) return say_pool_is_full("a communicator goes without");
  use_slice(c, offers[static_cast<std::size_t>(local_ranks(c).front())]);
}

void Job::use_slice(Communicator& c, const SliceOffer& offer) {
  c.pool = pool_.get();
  c.slice_offset = offer.offset;
  c.slice = make_slice(c, offer.offset, offer.stream_bytes);
}

std::unique_ptr<shm::Slice> Job::make_slice(const Communicator& c, std::int64_t offset,
                                            std::int64_t stream_bytes) const {
  std::vector<int> process_ids;
  for (int r : local_ranks(c)) {
    const auto in_world = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(r)]);
    process_ids.push_back(pool_->process_ids()[in_world]);
  }
  return std::make_unique<shm::Slice>(pool_->address(offset), slice_shape(c, stream_bytes), local_rank(c),
                                      c.wait, process_ids.data());
}

// At the first call that does not block. Whoever of the node comes first takes the memory for all, or says
// for all that there is none; nobody waits. Such calls use no streams.
void Job::find_slice_of_started(Communicator& c) {
  if (c.slice == nullptr || c.started_slice != nullptr) return;
  StartedPlace& place = SliceTail::of(c)->started;
  std::optional<std::int64_t> offset = place.find();
  if (!offset) {
    const std::int64_t taken = pool_->allocate(slice_shape(c, 0).bytes());
    offset = place.settle(taken);
    if (taken >= 0 && *offset != taken) pool_->release(taken);
  }
  if (*offset >= 0) {
    c.started_slice = make_slice(c, *offset, 0);
  } else {
    say_pool_is_full("calls that do not block share the memory of those that do, which run after them");
  }
}

void Job::say_pool_is_full(std::string_view what_follows) {
  if (world_rank_ != 0 || !options_.use_shared_memory || !pool_->is_available()) return;
  const std::lock_guard lock(decide_mutex_);
  if (std::exchange(is_pool_full_said_, true)) return;
  const std::string& limited_by = pool_->limited_by();
  warnings_.push_back("the node's pool of shared memory is full (option 'pool_bytes'" +
                      (limited_by.empty() ? "" : "; " + limited_by) + "): " + std::string(what_follows));
  log::warning(warnings_.back());
}

}  // namespace unisono::runtime
