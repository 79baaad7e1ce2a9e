// SPDX-License-Identifier: BSD-3-Clause
// Layout of a slice, channels, single copy. The fused operations are in fused.cc.
#include "shm/slice/slice.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/near_memory.h"
#include "shm/pool/peer_memory.h"
#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

// Of all slots together: what stays in the cores' first-level caches is as good as what has left their
// second.
constexpr std::size_t near_bytes = 16 * 1024;
// Longer pieces leave the cores' own caches by themselves: at 128 KiB nothing was gained by spreading them.
constexpr std::size_t longest_spread_bytes = 64 * 1024;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
std::size_t rounded_down(std::size_t bytes, std::size_t unit) {
  return bytes / unit * unit;
}

// Exposures of one rank and channel: two addresses for each slot.
constexpr std::size_t exposure_words = std::size_t{2} * max_buffers;

// What that many pieces of a channel add to the memory that is in use.
std::uint64_t growth(std::int64_t pieces, std::size_t place_bytes) {
  return static_cast<std::uint64_t>(pieces) * place_bytes / Slice::bytes_for_a_new_byte(place_bytes);
}

bool may_spread(const SliceShape& shape, const Slice::Use& use) {
  const std::size_t all = use.place_bytes * static_cast<std::size_t>(use.lanes * use.buffers);
  const bool is_short = use.place_bytes <= longest_spread_bytes && 2 * use.place_bytes <= use.lane_bytes;
  return shape.is_spread && all > near_bytes && is_short;
}

// Of a lane, where so much of all slots may be in use. There are so many for as many turns of the slots as
// there are places, so that pieces come to all of them before there are more.
std::uint64_t places_within(const Slice::Use& use, std::uint64_t grown_bytes) {
  const std::uint64_t turn_bytes = static_cast<std::uint64_t>(use.buffers) * use.place_bytes;
  const std::uint64_t turns_of_place = Slice::bytes_for_a_new_byte(use.place_bytes);
  const std::uint64_t places = std::max<std::uint64_t>(grown_bytes / turn_bytes, 1);
  const std::uint64_t step = (places + turns_of_place - 1) / turns_of_place;
  return std::min<std::uint64_t>(places / step * step, use.lane_bytes / use.place_bytes);
}

std::uint64_t number_of(const Slice::Use& use, std::int64_t piece) {
  return use.base_piece + static_cast<std::uint64_t>(piece);
}
std::uint64_t slot_index(const Slice::Use& use, std::int64_t piece) {
  return number_of(use, piece) % static_cast<std::uint64_t>(use.buffers);
}

}  // namespace

SliceLayout::SliceLayout(const SliceShape& shape) {
  const auto ranks = static_cast<std::size_t>(shape.local_size);
  doorbell = 0;
  arrivals = doorbell + sizeof(Doorbell);
  consumed = rounded_up(arrivals + shape.ring_lines * sizeof(std::atomic<std::uint64_t>), cache_line_bytes);
  hints = consumed + ranks * sizeof(Counter);
  flags = hints + ranks * sizeof(TransferHints);
  exposures = flags + channel_count * ranks * sizeof(Counter);
  asks = rounded_up(exposures + channel_count * ranks * exposure_words * sizeof(std::uint64_t),
                    cache_line_bytes);
  rings = rounded_up(asks + sizeof(AskLog) + ranks * sizeof(Ask), page_bytes);
  blocks = rounded_up(rings + ranks * shape.ring_lines * sizeof(Line), page_bytes);
  areas = rounded_up(blocks + ranks * shape.ring_lines * cache_line_bytes, page_bytes);
  stream_counters = rounded_up(areas + channel_count * ranks * shape.area_bytes, page_bytes);
  const std::size_t pairs = shape.stream_bytes == 0 ? 0 : ranks * (ranks - 1);
  const std::size_t of_readers = shape.stream_bytes == 0 ? 0 : ranks * (ranks + 1);
  common_stream_counters = stream_counters + pairs * 2 * sizeof(Counter);
  streams = rounded_up(common_stream_counters + of_readers * sizeof(Counter), page_bytes);
  answers = streams + pairs * shape.stream_bytes;
  end = answers + (ranks == 1 ? 0 : ranks * Slice::most_asked_bytes);
}

std::size_t SliceShape::bytes() const {
  return SliceLayout(*this).end;
}

std::size_t SliceShape::stream_bytes_of(int ranks, std::size_t channel_bytes) {
  // 512 KiB were as fast for blocks up to 256 KiB (2 ranks, Open MPI 5). Who writes longer ones waits for a
  // reader that has lost its core.
  constexpr std::size_t least_bytes = 2 * page_bytes, most_bytes = std::size_t{2} << 20;
  if (ranks < 2) return 0;
  const std::size_t pairs = static_cast<std::size_t>(ranks) * (static_cast<std::size_t>(ranks) - 1);
  const std::size_t bytes =
      std::clamp(rounded_down(channel_bytes / pairs, page_bytes), least_bytes, most_bytes);
  return bytes * pairs <= 2 * channel_bytes ? bytes : 0;
}

Slice::Slice(void* memory, const SliceShape& shape, int local_rank, const WaitConfig& wait,
             const int* process_ids)
    : shape_(shape),
      local_rank_(local_rank),
      state_(std::make_unique<State>(memory, shape, local_rank, process_ids)) {
  set_wait_config(wait);
  static const int domain = own_numa_domain();
  if (domain >= 0) state_->prefer_domain(shape.area_bytes, domain);
}

Slice::~Slice() = default;

// Of this rank's own areas, which it alone writes but in mode common. Where the kernel refuses they lie where
// they are first touched.
void Slice::State::prefer_domain(std::size_t area_bytes, int domain) const {
  for (const Channel& channel : channels)
    prefer_numa_domain(channel.area + static_cast<std::size_t>(rank) * area_bytes, area_bytes, domain);
}

void Slice::set_wait_config(const WaitConfig& wait) {
  wait_ = wait;
  wait_.doorbell = state_->bells.doorbell;
  wait_.own = sleeper(local_rank_);
  // A pause in the first looks costs a tenth of an exchange; where ranks share cores each look is wasted
  // time.
  const bool shares_core = gives_core_away(wait.policy);
  state_->quick_polls = shares_core ? 0 : 64;
  state_->is_ringing = is_rung(wait.policy);
  // Where ranks share cores nothing overlaps, and each piece may cost a switch. In one piece each, alltoalls
  // of 64 KiB with 3 neighbours took 0.67 of the time (4 ranks on 2 cores).
  if (shares_core) state_->streams.pieces_of_block = 1;
  for (State::Puts& puts : state_->transfers.puts) puts.mode = shares_core ? plain : streamed;
}

Slice::State::State(void* shared_memory, const SliceShape& shape, int local_rank,
                    const int* local_process_ids)
    : size(shape.local_size), rank(local_rank), ring_mask(shape.ring_lines - 1) {
  assert(reinterpret_cast<std::uintptr_t>(shared_memory) % cache_line_bytes == 0);
  assert(shape.ring_lines >= 256 && (shape.ring_lines & ring_mask) == 0);
  const SliceLayout layout(shape);
  auto* base = static_cast<char*>(shared_memory);
  memory = base;
  bells.doorbell = reinterpret_cast<Doorbell*>(base + layout.doorbell);
  bells.arrivals = reinterpret_cast<std::atomic<std::uint64_t>*>(base + layout.arrivals);
  consumed = reinterpret_cast<Counter*>(base + layout.consumed);
  transfers.hints = reinterpret_cast<TransferHints*>(base + layout.hints);
  ring = reinterpret_cast<Line*>(base + layout.rings);
  current = ring;
  blocks = base + layout.blocks;
  longest_lines = shape.ring_lines / longest_share;
  soft_limit = shape.ring_lines / 4;

  const std::size_t message_bytes = longest_lines * cache_line_bytes;
  scratch = std::make_unique<char[]>(2 * message_bytes);
  incoming = scratch.get();
  result = incoming + message_bytes;

  single_copy.log = reinterpret_cast<AskLog*>(base + layout.asks);
  single_copy.asks = reinterpret_cast<Ask*>(base + layout.asks + sizeof(AskLog));
  single_copy.answers = base + layout.answers;

  const auto ranks = static_cast<std::size_t>(size);
  if (local_process_ids != nullptr)
    single_copy.process_ids.assign(local_process_ids, local_process_ids + ranks);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    Channel& channel = channels[i];
    channel.flags = reinterpret_cast<Counter*>(base + layout.flags) + i * ranks;
    channel.area = base + layout.areas + i * ranks * shape.area_bytes;
    channel.exposures =
        reinterpret_cast<std::atomic<std::uint64_t>*>(base + layout.exposures) + i * ranks * exposure_words;
    channel.seen.assign(ranks, 0);
  }
  if (shape.stream_bytes != 0) {
    streams.bytes = shape.stream_bytes;
    map_streams(reinterpret_cast<Counter*>(base + layout.stream_counters), base + layout.streams);
    map_common_streams(reinterpret_cast<Counter*>(base + layout.common_stream_counters),
                       base + layout.streams);
  }
}

Slice::Use Slice::plan(int channel, bool is_common, int buffers, int lanes) const {
  Use use;
  use.channel = channel;
  use.is_common = is_common;
  use.buffers = std::clamp(buffers, 1, max_buffers);
  use.lanes = std::max(lanes, 1);
  const std::size_t areas = is_common ? static_cast<std::size_t>(shape_.local_size) : 1;
  use.slot_bytes =
      rounded_down(areas * shape_.area_bytes / static_cast<std::size_t>(use.buffers), cache_line_bytes);
  use.lane_bytes = rounded_down(use.slot_bytes / static_cast<std::size_t>(use.lanes), cache_line_bytes);
  return use;
}

void Slice::begin(Use* use, std::int64_t pieces, int ticks) {
  Channel& channel = state_->channels[static_cast<std::size_t>(use->channel)];
  if (channel.is_common != use->is_common || channel.buffers != use->buffers ||
      channel.slot_bytes != use->slot_bytes) {
    channel.is_common = use->is_common;
    channel.buffers = use->buffers;
    channel.slot_bytes = use->slot_bytes;
    channel.epoch_tick = channel.base_tick;
    channel.epoch_piece = channel.base_piece;
  }
  // Where there are several lanes one of them is the reader's own as a rule.
  state_->transfers.slots_in_use = static_cast<std::uint32_t>(use->buffers * std::max(use->lanes - 1, 1));
  use->pieces = pieces;
  use->ticks = ticks;
  use->base_tick = channel.base_tick;
  use->base_piece = channel.base_piece;
  use->epoch_tick = channel.epoch_tick;
  use->epoch_piece = channel.epoch_piece;
  use->past_ticks = channel.past_ticks.data();
}

void Slice::spread(Use* use, std::size_t longest_bytes) const {
  use->place_bytes = rounded_up(longest_bytes, longest_bytes < page_bytes ? cache_line_bytes : page_bytes);
  const Channel& channel = state_->channels[static_cast<std::size_t>(use->channel)];
  use->places = may_spread(shape_, *use) ? places_within(*use, channel.grown_bytes) : 1;
}

void Slice::touch_lane(Use use, int lane, std::size_t longest_bytes, const PiecesOfUse& pieces) const {
  const Channel& channel = state_->channels[static_cast<std::size_t>(use.channel)];
  use.base_piece = channel.base_piece;
  spread(&use, longest_bytes);
  const bool is_spread = may_spread(shape_, use);
  // Pieces since there were so many places: who has written as many as there are has come to all of them.
  std::int64_t since = pieces.before;
  if (use.places > 1) {
    const std::uint64_t turn_bytes = use.places * static_cast<std::uint64_t>(use.buffers) * use.place_bytes;
    const std::uint64_t beyond = (channel.grown_bytes - turn_bytes) / growth(1, use.place_bytes);
    since = std::min(since, static_cast<std::int64_t>(beyond));
  }
  const std::int64_t end = std::max<std::int64_t>(pieces.next, use.buffers);
  for (std::int64_t piece = 0; piece < end; ++piece) {
    if (is_spread && piece % pieces.of_call == 0) {
      const std::uint64_t places = places_within(use, channel.grown_bytes + growth(piece, use.place_bytes));
      if (std::exchange(use.places, places) != places) since = 0;
    }
    if (since++ >= use.buffers * static_cast<std::int64_t>(use.places)) continue;
    const char* begin = slot(use, piece, local_rank_, lane);
    touch_pages(begin, begin + std::min(longest_bytes, use.lane_bytes));
  }
}

Slice::Use Slice::go_on(Use* use, std::int64_t pieces) {
  Use more = *use;
  more.pieces = pieces;
  more.pieces_before = use->pieces;
  more.base_tick += static_cast<std::uint64_t>(use->pieces * use->ticks);
  more.base_piece += static_cast<std::uint64_t>(use->pieces);
  use->pieces += pieces;
  return more;
}

void Slice::end(const Use& use) {
  Channel& channel = state_->channels[static_cast<std::size_t>(use.channel)];
  for (std::int64_t piece = std::max<std::int64_t>(use.pieces - max_buffers, 0); piece < use.pieces;
       ++piece) {
    channel.past_ticks[number_of(use, piece) % max_buffers] =
        use.base_tick + static_cast<std::uint64_t>((piece + 1) * use.ticks);
  }
  // Where nobody said how long pieces were, they may have been as long as a lane.
  channel.grown_bytes += growth(use.pieces, use.place_bytes == 0 ? use.lane_bytes : use.place_bytes);
  channel.base_piece += static_cast<std::uint64_t>(use.pieces);
  channel.base_tick += static_cast<std::uint64_t>(use.pieces * use.ticks);
  set_flag(use.channel, channel.base_tick);
}

std::uint64_t Slice::flag(int channel, int local_rank) const {
  return state_->channels[static_cast<std::size_t>(channel)].flags[local_rank].value.load(
      std::memory_order_acquire);
}

void Slice::set_flag(int channel, std::uint64_t tick) {
  state_->channels[static_cast<std::size_t>(channel)].flags[local_rank_].value.store(
      tick, std::memory_order_release);
  if (state_->is_ringing) ring(wait_.doorbell);
}

bool Slice::all_reached(int channel_index, std::uint64_t tick) {
  Channel& channel = state_->channels[static_cast<std::size_t>(channel_index)];
  if (channel.all_seen >= tick) return true;
  for (std::size_t rank = 0; rank < channel.seen.size(); ++rank) {
    if (channel.seen[rank] >= tick) continue;
    channel.seen[rank] = channel.flags[rank].value.load(std::memory_order_acquire);
    if (channel.seen[rank] < tick) return false;
  }
  channel.all_seen = tick;
  return true;
}

std::uint64_t Slice::space_tick(const Use& use, std::int64_t piece) {
  const std::uint64_t number = number_of(use, piece);
  const auto buffers = static_cast<std::uint64_t>(use.buffers);
  if (number - use.epoch_piece < buffers) return use.epoch_tick;
  if (use.pieces_before + piece >= use.buffers) {
    // Of this use, or the one that it goes on with; then the difference is negative.
    return use.base_tick + static_cast<std::uint64_t>((piece - use.buffers + 1) * use.ticks);
  }
  return use.past_ticks[(number - buffers) % max_buffers];
}

char* Slice::slot(const Use& use, std::int64_t piece, int owner, int lane) const {
  char* area = state_->channels[static_cast<std::size_t>(use.channel)].area;
  if (!use.is_common) area += static_cast<std::size_t>(owner) * shape_.area_bytes;
  const std::uint64_t number = number_of(use, piece);
  const std::uint64_t turn = number / static_cast<std::uint64_t>(use.buffers);
  const std::uint64_t index = number - turn * static_cast<std::uint64_t>(use.buffers);
  char* begin = area + index * use.slot_bytes + static_cast<std::size_t>(lane) * use.lane_bytes;
  return use.places > 1 ? begin + turn % use.places * use.place_bytes : begin;
}

void Slice::expose(const Use& use, std::int64_t piece, const Exposure& exposure) {
  auto* words = state_->channels[static_cast<std::size_t>(use.channel)].exposures +
                static_cast<std::size_t>(local_rank_) * exposure_words + 2 * slot_index(use, piece);
  words[0].store(exposure.input, std::memory_order_relaxed);
  words[1].store(exposure.output, std::memory_order_relaxed);
}

Exposure Slice::exposed(const Use& use, std::int64_t piece, int owner) const {
  const auto* words = state_->channels[static_cast<std::size_t>(use.channel)].exposures +
                      static_cast<std::size_t>(owner) * exposure_words + 2 * slot_index(use, piece);
  return {.input = words[0].load(std::memory_order_relaxed),
          .output = words[1].load(std::memory_order_relaxed)};
}

bool Slice::read_remote(int owner, std::uint64_t address, void* into, std::size_t bytes) const {
  return read_process(state_->single_copy.process_ids[static_cast<std::size_t>(owner)], address, into, bytes);
}

}  // namespace unisono::shm
