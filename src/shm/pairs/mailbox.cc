// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pairs/mailbox.h"

#include <algorithm>
#include <bit>

#include "base/pages.h"

namespace unisono::shm {
namespace {

constexpr std::size_t most_arena_bytes = std::size_t{4} << 20, least_arena_bytes = std::size_t{256} << 10;
constexpr std::size_t most_arenas_bytes = std::size_t{32} << 20;  // all together
constexpr std::size_t most_ring_lines = 512;
constexpr std::size_t most_long_rings_bytes = std::size_t{16} << 20;  // all together

}  // namespace

std::size_t MailboxShape::arena_bytes_of(int ranks) {
  const std::size_t share = most_arenas_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::clamp(std::bit_floor(share), least_arena_bytes, most_arena_bytes);
}

int MailboxShape::ring_lines_of(int ranks, bool is_crowded) {
  if (!is_crowded) return least_ring_lines;
  const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  const std::size_t share = most_long_rings_bytes / std::max<std::size_t>(pairs, 1) / sizeof(RingLine);
  return static_cast<int>(std::clamp<std::size_t>(std::bit_floor(share), least_ring_lines, most_ring_lines));
}

// A rank's own does not exist: it sends itself nothing by a ring.
std::size_t Mailbox::rings_bytes(const MailboxShape& shape) {
  return up_to_whole_pages(index(shape.ranks) * index(shape.ranks) * pair_bytes(shape));
}

std::size_t MailboxShape::bytes() const {
  const auto count = static_cast<std::size_t>(ranks);
  return count * up_to_whole_pages(sizeof(Mailbox::Place)) + Mailbox::rings_bytes(*this) +
         count * arena_bytes;
}

Mailbox::Mailbox(void* memory, const MailboxShape& shape, int rank, WaitPolicy policy)
    : memory_(static_cast<std::byte*>(memory)),
      shape_(shape),
      rank_(rank),
      wakes_readers_(is_rung(policy)),
      arenas_{Arena(arena_of(rank, false), shape.arena_bytes / 2),
              Arena(arena_of(rank, true), shape.arena_bytes / 2)},
      has_begun_(index(shape.ranks)) {
  for (int peer = 0; peer < shape.ranks; ++peer) {
    writers_.emplace_back(ring_of(rank, peer));
    readers_.emplace_back(ring_of(peer, rank));
    ways_.emplace_back(times_of(rank, peer));
  }
}

Mailbox::Place* Mailbox::place_of(int rank) const {
  return reinterpret_cast<Place*>(memory_ + index(rank) * up_to_whole_pages(sizeof(Place)));
}

// What one rank writes lies together, so that a page has one rank's rings.
ReaderTimes* Mailbox::times_of(int from, int to) const {
  std::byte* pairs = memory_ + index(shape_.ranks) * up_to_whole_pages(sizeof(Place));
  const std::size_t pair = index(from) * index(shape_.ranks) + index(to);
  return reinterpret_cast<ReaderTimes*>(pairs + pair * pair_bytes(shape_));
}

RingPlace Mailbox::ring_of(int from, int to) const {
  return {.memory = reinterpret_cast<RingMemory*>(times_of(from, to) + 1), .count = shape_.ring_lines};
}

std::byte* Mailbox::arena_of(int rank, bool is_streamed) const {
  return memory_ + index(shape_.ranks) * up_to_whole_pages(sizeof(Place)) + rings_bytes(shape_) +
         index(rank) * shape_.arena_bytes + (is_streamed ? shape_.arena_bytes / 2 : 0);
}

void Mailbox::write(int to, const RingItem& item, const void* data, std::size_t bytes) {
  writers_[index(to)].write(item, data, bytes);
  Place* place = place_of(to);
  if (!has_begun_[index(to)]) {
    has_begun_[index(to)] = true;
    place->has_sent[rank_ / 64].fetch_or(std::uint64_t{1} << (rank_ % 64), std::memory_order_relaxed);
    place->news.fetch_add(1, std::memory_order_release);
  }
  if (wakes_readers_) ring(&place->doorbell);
}

std::uint64_t Mailbox::put_into_arena(int to, const void* data, std::size_t bytes,
                                      std::size_t message_bytes) {
  CopyWay& way = ways_[index(to)];
  const CopyWay::Copy copy = way.next(message_bytes);
  const ArenaPlace place = arenas_[copy.is_streaming ? 1 : 0].take(bytes);
  if (place.data == nullptr) {
    way.drop(copy);
    return 0;
  }
  way.copy(copy, place.data, data, bytes);
  const std::uint64_t name = place.name | static_cast<std::uint64_t>(copy.timed + 1) << timed_shift;
  return copy.is_streaming ? name | streamed : name;
}

void Mailbox::tell_time(int from, int timed, std::uint64_t ns) {
  const auto told = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ns, 1, INT32_MAX));
  times_of(from, rank_)->ns[timed % ReaderTimes::most].store(told, std::memory_order_release);
}

void Mailbox::add_senders() {
  Place* own = place_of(rank_);
  known_news_ = own->news.load(std::memory_order_acquire);
  senders_.clear();
  for (int from = 0; from < shape_.ranks; ++from) {
    if ((own->has_sent[from / 64].load(std::memory_order_relaxed) >> (from % 64) & 1) != 0)
      senders_.push_back(from);
  }
}

}  // namespace unisono::shm
