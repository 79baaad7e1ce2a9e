// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/slices.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/pages.h"
#include "runtime/communicators/call_queue.h"

namespace unisono::runtime {
namespace {

constexpr std::size_t least_area_bytes = 16 * 1024;
constexpr std::size_t largest_area_bytes = std::size_t{1} << 30;
constexpr std::size_t least_ring_lines = 256;

}  // namespace

// Only operations inside one node use streams.
std::int64_t Slices::wanted_stream_bytes(const Communicator& c) const {
  if (c.layout->nodes() > 1) return 0;
  const auto channel_bytes = static_cast<std::size_t>(world_.options.channel_bytes);
  return static_cast<std::int64_t>(shm::SliceShape::stream_bytes_of(c.size, channel_bytes));
}

shm::SliceShape Slices::shape_of(const Communicator& c, const SliceOffer& offer) const {
  const std::size_t locals = c.local_ranks().size();
  shm::SliceShape shape{.local_size = static_cast<int>(locals),
                        .stream_bytes = static_cast<std::size_t>(offer.stream_bytes)};
  const std::size_t share = buffer_bytes(locals);
  shape.area_bytes = locals == 1 ? page_bytes : std::max(least_area_bytes, share / page_bytes * page_bytes);
  if (offer.area_bytes != 0) {
    shape.area_bytes = std::min(shape.area_bytes, static_cast<std::size_t>(offer.area_bytes));
    shape.ring_lines = least_ring_lines;
  }
  // What one rank has written the next one finds in their common core's caches, as long as it is little.
  shape.is_spread = std::ranges::none_of(c.local_ranks(), [&](int rank) {
    return world_.cores[static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(rank)])].is_crowded;
  });
  return shape;
}

// What was measured holds as long as all ranks together stay within some times what they have by themselves.
std::size_t Slices::buffer_bytes(std::size_t locals) const {
  constexpr std::size_t most_factor = 4;
  const auto standard = static_cast<std::size_t>(world_.options.channel_bytes);
  const auto measured = static_cast<std::size_t>(world_.measured.buffer_bytes);
  if (measured == 0) return standard / locals;
  return std::min(measured, most_factor * standard / locals);
}

// A node's first rank takes the memory for all, of so many windows of the pool (shm::Pool::allocate).
SliceOffer Slices::reserve(const Communicator& c, int windows) const {
  SliceOffer offer{.windows = world_.pool->mapped_windows()};
  if (c.local_rank() != 0 || !world_.pool->is_available() || !world_.options.use_shared_memory) return offer;
  offer.stream_bytes = wanted_stream_bytes(c);
  if (!allocate(c, windows, &offer) && std::exchange(offer.stream_bytes, 0) != 0)
    allocate(c, windows, &offer);
  return offer;
}

bool Slices::allocate(const Communicator& c, int windows, SliceOffer* offer) const {
  const shm::SliceShape shape = shape_of(c, *offer);
  offer->offset = world_.pool->allocate(shape.bytes() + shm::cache_line_bytes, windows);
  if (offer->offset < 0) return false;
  new (SliceTail::at(world_.pool->address(offer->offset), shape)) SliceTail{
      .users = static_cast<std::int32_t>(c.local_ranks().size()), .switch_point = {}, .started = {}};
  return true;
}

// The same of a place for a persistent call of so many bytes, all blocks together; 0: not known. A pool that
// has no room for a communicator beside it counts as full.
SliceOffer Slices::reserve_place(const Communicator& c, std::int64_t bytes, int windows) const {
  SliceOffer offer{.windows = world_.pool->mapped_windows()};
  if (c.local_rank() != 0 || !world_.pool->is_available() || !world_.options.use_shared_memory) return offer;
  // Slots are as long then as in a communicator's slice, but where an algorithm has more of them than this.
  constexpr std::size_t most_slots = 16;
  if (bytes != 0) {
    const auto wanted = std::min(static_cast<std::size_t>(bytes), largest_area_bytes) * most_slots;
    offer.area_bytes = static_cast<std::int64_t>(std::max(least_area_bytes, up_to_whole_pages(wanted)));
  }
  if (!allocate(c, windows, &offer)) return offer;
  if (!world_.pool->has_room(shape_of(c, {}).bytes() + shm::cache_line_bytes, windows))
    world_.pool->release(std::exchange(offer.offset, -1));
  return offer;
}

void Slices::attach(Communicator& c) {
  // Without a slice on every node no algorithm may use shared memory.
  if (!attach(c, [&](int windows) { return reserve(c, windows); }))
    say_pool_is_full("a communicator goes without");
}

// Tells the other ranks of a slice what this one has reserved for its node, if it is the first there. True
// where there is a slice on every node.
bool Slices::offer(Communicator& c, const Reserve& reserve, int windows,
                   std::vector<SliceOffer>* offers) const {
  const SliceOffer own = reserve(windows);
  offers->assign(static_cast<std::size_t>(c.size), {});
  bool is_everywhere =
      world_.host.allgather_bytes(&own, sizeof own, offers->data(), c.handle) == host::success;
  for (const auto& ranks : c.layout->ranks_of)
    is_everywhere = is_everywhere && (*offers)[static_cast<std::size_t>(ranks.front())].offset >= 0;
  if (!is_everywhere && own.offset >= 0) world_.pool->release(own.offset);
  return is_everywhere;
}

bool Slices::attach_place(Communicator& c, std::int64_t bytes) {
  if (attach(c, [&](int windows) { return reserve_place(c, bytes, windows); })) return true;
  say_pool_is_full("persistent collectives that have no place of their own are the MPI's");
  return false;
}

// Where the pool is full as far as it is mapped all map more of it, as long as all can. False where a node
// has no slice.
bool Slices::attach(Communicator& c, const Reserve& reserve) const {
  std::vector<SliceOffer> offers;
  const auto least_windows = [&] { return std::ranges::min(offers, {}, &SliceOffer::windows).windows; };
  bool is_everywhere = offer(c, reserve, 0, &offers);
  for (int before = 0; !is_everywhere && world_.options.use_shared_memory && least_windows() > before;) {
    before = least_windows();
    const bool is_whole = before == shm::Pool::every_window;
    SliceOffer own{.windows = world_.pool->mapped_windows(is_whole ? 0 : before + 1)};
    if (world_.host.allgather_bytes(&own, sizeof own, offers.data(), c.handle) != host::success) break;
    is_everywhere = offer(c, reserve, least_windows(), &offers);
  }
  if (!is_everywhere) return false;
  use(c, offers[static_cast<std::size_t>(c.local_ranks().front())]);
  return true;
}

void Slices::use(Communicator& c, const SliceOffer& offer) const {
  c.node.pool = world_.pool.get();
  c.node.slice_offset = offer.offset;
  c.node.slice = make(c, offer);
}

std::unique_ptr<shm::Slice> Slices::make(const Communicator& c, const SliceOffer& offer) const {
  std::vector<int> process_ids;
  for (int r : c.local_ranks()) {
    const auto in_world = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(r)]);
    process_ids.push_back(world_.pool->process_ids()[in_world]);
  }
  return std::make_unique<shm::Slice>(world_.pool->address(offer.offset), shape_of(c, offer), c.local_rank(),
                                      c.node.wait, process_ids.data());
}

shm::Slice* Slices::of_next_start(Communicator& c) {
  if (c.node.slice == nullptr || c.node.started_slice != nullptr) return c.node.started_slice.get();
  StartedPlace& place = SliceTail::of(c)->started;
  const std::size_t bytes = shape_of(c, {}).bytes();
  if (!place.is_past(++c.queue->starts, [&] { return world_.pool->allocate(bytes); })) {
    const bool is_looked_for = std::has_single_bit(c.queue->starts) && place.offset() < 0;
    if (is_looked_for && !world_.pool->may_grow() && !world_.pool->has_room(bytes))
      say_pool_is_full("calls that do not block share the memory of those that do, which run after them");
    return c.node.slice.get();
  }
  c.node.started_slice = make(c, {.offset = place.offset()});
  return c.node.started_slice.get();
}

void Slices::say_pool_is_full(std::string_view what_follows) {
  if (!world_.notices().is_speaker() || !world_.options.use_shared_memory || !world_.pool->is_available())
    return;
  {
    const LockGuard lock(mutex_);
    if (std::exchange(is_pool_full_said_, true)) return;
  }
  const std::string& limited_by = world_.pool->limited_by();
  world_.notices().warn("the node's pool of shared memory is full (option 'pool_bytes'" +
                        (limited_by.empty() ? "" : "; " + limited_by) + "): " + std::string(what_follows));
}

}  // namespace unisono::runtime
