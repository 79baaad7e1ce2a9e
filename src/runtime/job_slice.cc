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

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t least_area_bytes = 16 * 1024;
constexpr std::size_t largest_area_bytes = std::size_t{1} << 30;
constexpr std::size_t least_ring_lines = 256;

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

shm::SliceShape Job::slice_shape(const Communicator& c, const SliceOffer& offer) const {
  const std::size_t locals = local_ranks(c).size();
  shm::SliceShape shape{.local_size = static_cast<int>(locals),
                        .stream_bytes = static_cast<std::size_t>(offer.stream_bytes)};
  const std::size_t share = buffer_bytes(locals);
  shape.area_bytes = locals == 1 ? page_bytes : std::max(least_area_bytes, share / page_bytes * page_bytes);
  if (offer.area_bytes != 0) {
    shape.area_bytes = std::min(shape.area_bytes, static_cast<std::size_t>(offer.area_bytes));
    shape.ring_lines = least_ring_lines;
  }
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
  if (!reserve(c, windows, &offer) && std::exchange(offer.stream_bytes, 0) != 0) reserve(c, windows, &offer);
  return offer;
}

bool Job::reserve(const Communicator& c, int windows, SliceOffer* offer) {
  const shm::SliceShape shape = slice_shape(c, *offer);
  offer->offset = pool_->allocate(shape.bytes() + shm::cache_line_bytes, windows);
  if (offer->offset < 0) return false;
  new (SliceTail::at(pool_->address(offer->offset), shape))
      SliceTail{.users = static_cast<std::int32_t>(local_ranks(c).size()), .switch_point = {}, .started = {}};
  return true;
}

// The same of a place for a persistent call of so many bytes, all blocks together; 0: not known. A pool that
// has no room for a communicator beside it counts as full.
SliceOffer Job::reserve_place(const Communicator& c, std::int64_t bytes, int windows) {
  SliceOffer offer{.windows = pool_->mapped_windows()};
  if (local_rank(c) != 0 || !pool_->is_available() || !options_.use_shared_memory) return offer;
  // Slots are as long then as in a communicator's slice, but where an algorithm has more of them than this.
  constexpr std::size_t most_slots = 16;
  if (bytes != 0) {
    const auto wanted = std::min(static_cast<std::size_t>(bytes), largest_area_bytes) * most_slots;
    offer.area_bytes = static_cast<std::int64_t>(
        std::max(least_area_bytes, (wanted + page_bytes - 1) / page_bytes * page_bytes));
  }
  if (!reserve(c, windows, &offer)) return offer;
  const std::int64_t of_another =
      pool_->allocate(slice_shape(c, {}).bytes() + shm::cache_line_bytes, windows);
  pool_->release(of_another >= 0 ? of_another : std::exchange(offer.offset, -1));
  return offer;
}

void Job::attach_slice(Communicator& c) {
  // Without a slice on every node no algorithm may use shared memory; every rank becomes a node of its own.
  if (!attach(c, [&](int windows) { return reserve_slice(c, windows); }))
    say_pool_is_full("a communicator goes without");
}

// Tells the other ranks of a slice what this one has reserved for its node, if it is the first there. True
// where there is a slice on every node.
bool Job::offer_slices(Communicator& c, const Reserve& reserve, int windows,
                       std::vector<SliceOffer>* offers) {
  const SliceOffer own = reserve(windows);
  offers->assign(static_cast<std::size_t>(c.size), {});
  bool is_everywhere = host_.allgather_bytes(&own, sizeof own, offers->data(), c.handle) == host::success;
  for (const auto& ranks : c.layout->ranks_of)
    is_everywhere = is_everywhere && (*offers)[static_cast<std::size_t>(ranks.front())].offset >= 0;
  if (!is_everywhere && own.offset >= 0) pool_->release(own.offset);
  return is_everywhere;
}

// Where the pool is full as far as it is mapped all map more of it, as long as all can. False where a node
// has no slice.
bool Job::attach(Communicator& c, const Reserve& reserve) {
  std::vector<SliceOffer> offers;
  const auto least_windows = [&] { return std::ranges::min(offers, {}, &SliceOffer::windows).windows; };
  bool is_everywhere = offer_slices(c, reserve, 0, &offers);
  for (int before = 0; !is_everywhere && options_.use_shared_memory && least_windows() > before;) {
    before = least_windows();
    const bool is_whole = before == shm::Pool::every_window;
    SliceOffer own{.windows = pool_->mapped_windows(is_whole ? 0 : before + 1)};
    if (host_.allgather_bytes(&own, sizeof own, offers.data(), c.handle) != host::success) break;
    is_everywhere = offer_slices(c, reserve, least_windows(), &offers);
  }
  if (!is_everywhere) return false;
  use_slice(c, offers[static_cast<std::size_t>(local_ranks(c).front())]);
  return true;
}

void Job::use_slice(Communicator& c, const SliceOffer& offer) {
  c.pool = pool_.get();
  c.slice_offset = offer.offset;
  c.slice = make_slice(c, offer);
}

std::unique_ptr<shm::Slice> Job::make_slice(const Communicator& c, const SliceOffer& offer) const {
  std::vector<int> process_ids;
  for (int r : local_ranks(c)) {
    const auto in_world = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(r)]);
    process_ids.push_back(pool_->process_ids()[in_world]);
  }
  return std::make_unique<shm::Slice>(pool_->address(offer.offset), slice_shape(c, offer), local_rank(c),
                                      c.wait, process_ids.data());
}

// At the first call that does not block. Whoever of the node comes first takes the memory for all, or says
// for all that there is none; nobody waits. Such calls use no streams.
void Job::find_slice_of_started(Communicator& c) {
  if (c.slice == nullptr || c.started_slice != nullptr) return;
  StartedPlace& place = SliceTail::of(c)->started;
  std::optional<std::int64_t> offset = place.find();
  if (!offset) {
    const std::int64_t taken = pool_->allocate(slice_shape(c, {}).bytes());
    offset = place.settle(taken);
    if (taken >= 0 && *offset != taken) pool_->release(taken);
  }
  if (*offset >= 0) {
    c.started_slice = make_slice(c, {.offset = *offset});
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
