// SPDX-License-Identifier: BSD-3-Clause
// What a slice keeps: addresses into the shared memory, and this rank's own counters. All counters that are
// not in shared memory advance in the same way on all local ranks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/pages.h"
#include "shm/slice/line_shape.h"
#include "shm/slice/slice.h"

namespace unisono::shm {

// Reads a byte of every page, which maps them all.
inline void touch_pages(const volatile char* begin, const volatile char* end) {
  for (; begin < end; begin += page_bytes) static_cast<void>(*begin);
}

// One line of a fused ring: data and flag arrive together. `sequence` is the line's position + 1; it is never
// cleared. The payload is plain memory: readers touch it after they have seen the sequence (acquire), the
// writer after it knows that all have read it (State::make_room).
struct alignas(cache_line_bytes) Line {
  char payload[payload_bytes];
  std::atomic<std::uint64_t> sequence;
};
static_assert(sizeof(Line) == cache_line_bytes);

// A counter with one writer, alone on its cache line.
struct alignas(cache_line_bytes) Counter {
  std::atomic<std::uint64_t> value;
};

// How a slot was written (transfer.cc): through the caches or past them.
enum TransferMode : std::uint8_t { plain = 0, streamed = 1 };
inline constexpr std::size_t transfer_classes = 10;  // of sizes

// The longest operation takes one part in so many of a fused ring.
inline constexpr std::size_t longest_share = 4;

// What a rank tells the others about its large copies.
struct alignas(cache_line_bytes) TransferHints {
  // In a stamp, beside the mode: time this one surely; time it not at all.
  static constexpr std::uint8_t timed = 2;
  static constexpr std::uint8_t unsettled = 4;
  static constexpr int stamp_bits = 8;
  // What its gets cost, ns per byte, by size and by how the slot was written; 0: not known yet.
  std::array<std::array<std::atomic<float>, 2>, transfer_classes> get_cost;
  // The mode of its last put into a slot; by a hash of the slot's place, so rarely another slot's.
  alignas(cache_line_bytes) std::array<std::atomic<std::uint8_t>, 1 << stamp_bits> stamps;
};

// What a rank wants of another one's memory.
struct alignas(cache_line_bytes) Ask {
  static constexpr std::uint32_t none = 0, answered = 1;
  // One word says that there is an ask, and whose it is: another owner is not to read half of the next one.
  static constexpr std::uint32_t of(int owner) { return 2 + static_cast<std::uint32_t>(owner); }
  std::atomic<std::uint32_t> state;
  std::uint64_t address;
  std::uint64_t bytes;
};

// Of a slice: has anybody asked, and from which call on is single copy given up?
struct alignas(cache_line_bytes) AskLog {
  std::atomic<std::uint32_t> has_asks;
  // Twice the number of a call. Even: up to that one it is not given up. Odd: it is, after that call.
  std::atomic<std::uint64_t> given_up;
};

// Of a rank: whose memory it reads, and what the kernel refuses to copy.
struct SingleCopy {
  char* answer_to(int asking) const {
    return answers + static_cast<std::size_t>(asking) * Slice::most_asked_bytes;
  }
  std::vector<int> process_ids;
  std::uint64_t calls = 0;
  AskLog* log = nullptr;
  Ask* asks = nullptr;      // [local rank]: that it asks
  char* answers = nullptr;  // by who asks
};

// Where the parts of a slice begin, bytes.
struct SliceLayout {
  explicit SliceLayout(const SliceShape& shape);
  std::size_t doorbell, arrivals, consumed, hints, flags, exposures, asks, rings, blocks, areas,
      stream_counters, common_stream_counters, streams, answers, end;
};

struct Channel {
  // In shared memory.
  Counter* flags = nullptr;  // [local rank]
  char* area = nullptr;      // of local rank 0; the others' follow
  std::atomic<std::uint64_t>* exposures = nullptr;

  // Equal on all local ranks.
  std::uint64_t base_tick = 0;
  std::uint64_t base_piece = 0;
  std::uint64_t epoch_tick = 0;
  std::uint64_t epoch_piece = 0;
  bool is_common = false;
  int buffers = 0;
  std::size_t slot_bytes = 0;
  std::uint64_t grown_bytes = 0;  // so much of all slots' memory may be in use
  std::array<std::uint64_t, max_buffers> past_ticks{};

  // What this rank has seen of the flags.
  std::vector<std::uint64_t> seen;
  std::uint64_t all_seen = 0;
};

// One end of a stream, as this rank has it.
struct StreamEnd {
  int peer = 0;
  bool is_writing = false;
  bool is_common = false;  // a rank's stream to all its readers
  char* ring = nullptr;
  std::size_t ring_bytes = 0;
  Counter* own = nullptr;          // bytes that this end has moved, of all blocks so far, each in whole lines
  const Counter* other = nullptr;  // that the other end has; null where there are several
  std::vector<const Counter*> readers;  // what they are then
  std::uint64_t position = 0;           // what `own` says
  std::uint64_t seen = 0;               // what the other end said last, of several the one that is behind
  // Of the block that is under way.
  char* block = nullptr;
  std::size_t left = 0;
  std::size_t piece = 0;
  // Those that come next.
  struct Waiting {
    char* block;
    std::size_t bytes;
  };
  std::vector<Waiting> next;
  std::size_t begun = 0;  // of `next`

  void look() {
    if (other != nullptr) {
      seen = other->value.load(std::memory_order_acquire);
      return;
    }
    seen = position;
    for (const Counter* reader : readers)
      seen = std::min(seen, reader->value.load(std::memory_order_acquire));
  }
  // Who waits for what this end moves.
  Sleepers other_end() const { return is_common && is_writing ? all_sleepers : sleeper(peer); }
  // Has all been read that was written?
  bool is_read() {
    if (seen != position) look();
    return seen == position;
  }

  // A stream goes through the first part of its ring, and in each lap one byte further for so many of the
  // lap. So programs with few blocks do not touch all of the ring's pages, and no call touches many of them.
  // Both ends know how long each lap is.
  static constexpr std::size_t first_lap_bytes = std::size_t{256} << 10;
  static constexpr std::size_t bytes_for_a_new_byte = 64;
  std::uint64_t lap_begin = 0;                    // a position
  std::size_t lap_bytes = 0, last_lap_bytes = 0;  // of this lap and of the one before
  void use_ring(char* memory, std::size_t bytes) {
    ring = memory;
    ring_bytes = bytes;
    lap_bytes = last_lap_bytes = std::min(bytes, first_lap_bytes);
  }
  // Where in the ring `position` is.
  std::size_t place() const { return position - lap_begin; }
  void advance(std::size_t bytes) {
    position += bytes;
    if (place() < lap_bytes) return;
    lap_begin += lap_bytes;
    last_lap_bytes = lap_bytes;
    lap_bytes = std::min(ring_bytes, lap_bytes + up_to_whole_pages(lap_bytes / bytes_for_a_new_byte));
  }
  // For the writer: what lay here in the last lap must have been read.
  std::size_t room() const { return last_lap_bytes - (position - seen); }
};

struct Slice::State {
  State(void* shared_memory, const SliceShape& shape, int local_rank, const int* process_ids);
  void prefer_domain(std::size_t area_bytes, int domain) const;

  // --- Fused rings ---
  // The lines of all local ranks for one position, side by side: with many ranks one page holds a whole row.
  Line* row(std::uint64_t at) const { return ring + (at & ring_mask) * static_cast<std::uint64_t>(size); }
  // A rank's long message at `position`.
  char* block(int of) const { return block(of, position); }
  char* block(int of, std::uint64_t at) const {
    return blocks + ((at & ring_mask) + static_cast<std::uint64_t>(of) * (ring_mask + 1)) * cache_line_bytes;
  }
  // Before an operation in which a rank writes so many messages of `bytes`: there is room for them in every
  // ring.
  void begin_operation(std::size_t bytes, const WaitConfig& wait, int messages = 1);
  void skip_ring_end(std::size_t bytes, int messages);
  [[gnu::cold]] void make_room(const WaitConfig& wait);
  const char* await_payload(const Line& line, std::uint64_t at, const WaitConfig& wait) const;
  [[gnu::noinline]] static void wait_for_line(const Line& line, std::uint64_t at, const WaitConfig& wait);
  const char* exchange_line(const void* data, std::size_t bytes, const WaitConfig& wait);
  [[gnu::cold]] const char* exchange_line_slowly(const void* data, std::size_t bytes, const WaitConfig& wait);
  [[gnu::cold]] const char* finish_exchange(std::uint64_t at, const WaitConfig& wait);
  void advance(std::size_t lines) {
    position += lines;
    current = row(position);
  }
  // Where a block's slot begins, of the exchange that is under way.
  std::uint64_t line_of_place(int place) const {
    return position + static_cast<std::uint64_t>(place) * exchange.lines_of_place;
  }
  // Copies `bytes` into the lines of a column from `at` on, and the other way round.
  void post(const void* data, std::size_t bytes, std::uint64_t at, int column, const WaitConfig& wait);
  void fetch(void* data, std::size_t bytes, std::uint64_t at, int column, const WaitConfig& wait);
  // The part [offset, offset + bytes) of a message of `whole_bytes`.
  void fetch_part(void* data, std::size_t offset, std::size_t bytes, std::size_t whole_bytes,
                  std::uint64_t at, int column, const WaitConfig& wait);
  // The message of the operation that is under way: this rank's, another one's.
  void post(const void* data, std::size_t bytes, const WaitConfig& wait) {
    post(data, bytes, position, rank, wait);
  }
  // Of an operation in which some rank waits for all: whoever comes last rings for them, once for all ranks.
  // All ranks arrive, also those that have nothing to post.
  void post_and_arrive(const void* data, std::size_t bytes, const WaitConfig& wait) {
    post_silently(data, bytes, position, rank);
    arrive(wait);
  }
  void arrive(const WaitConfig& wait) {
    if (is_ringing) [[unlikely]]
      ring_if_last(wait);
  }
  // As make_room(), without a wait: is there room?
  bool find_room(const WaitConfig& wait);
  [[gnu::cold]] void ring_if_last(const WaitConfig& wait);
  void post_silently(const void* data, std::size_t bytes, std::uint64_t at, int column);
  void fetch(void* data, std::size_t bytes, int from, const WaitConfig& wait) {
    fetch(data, bytes, position, from, wait);
  }
  // A rank's part of a reduction: where it lies already, or copied to `room`.
  const void* contribution(int from, const void* own, std::size_t bytes, char* room, const WaitConfig& wait);
  // Of a call that must not wait: what this rank writes, whose lines it reads, and what it makes of them.
  std::size_t posted_bytes(const FusedCall& call) const;
  bool is_whole_message_there(int column, std::size_t bytes) const;
  bool reads(const FusedCall& call, int peer) const;
  void take_fused(const FusedCall& call, const WaitConfig& wait);
  void barrier_of_many(const WaitConfig& wait);
  void allreduce_of_many(void* into, const void* from, std::size_t count, const Combine& combine,
                         const WaitConfig& wait);
  void alltoall_of_two(char* into, const char* from, std::size_t bytes, const WaitConfig& wait);
  void alltoall_of_many(char* into, const char* from, std::size_t bytes, const WaitConfig& wait);
  void allgather_of_many(char* blocks, const void* from, std::size_t bytes, const WaitConfig& wait);
  // Of the first `operands` ranks.
  void reduce_in_rank_order(void* into, const void* from, std::size_t count, const Combine& combine,
                            int operands, const WaitConfig& wait);
  const void* join_from_below(void* into, const void* from, std::size_t count, const Combine& combine,
                              const TreePlace& place, const WaitConfig& wait);
  // What comes down the tree is taken, and handed on to those below.
  void read_from_above(void* data, std::size_t bytes, std::uint64_t at, const TreePlace& place,
                       const WaitConfig& wait);
  void prefix(void* into, const void* from, std::size_t count, const Combine& combine, bool is_inclusive,
              const WaitConfig& wait);
  void reduce_scatter_of_two(char* into, const char* from, std::size_t count, const Combine& combine,
                             const WaitConfig& wait);
  // Of each rank's message of `whole` bytes the part from `offset` on, the own one lying at `own`.
  void join_part(void* into, const char* own, std::size_t offset, std::size_t count, std::size_t whole,
                 const Combine& combine, const WaitConfig& wait);
  void reduce_part_of_many(char* into, const char* from, std::size_t first, std::size_t count,
                           std::size_t total, const Combine& combine, const WaitConfig& wait);

  int size;
  int rank;
  int quick_polls = 0;      // looks at a line before the wait counts as one that pauses and minds the clock
  bool is_ringing = false;  // others may sleep
  std::uint64_t position = 0;    // lines that all operations before have used
  std::uint64_t soft_limit = 0;  // at most this position may be begun without another look (make_room)
  std::uint64_t peers_done = 0;  // all ranks have finished everything before this position
  std::uint64_t published = 0;   // what the own `consumed` says
  std::uint64_t ring_mask;
  Line* ring;
  Line* current;              // row(position)
  char* blocks;               // one for each rank, as long as its ring
  Counter* consumed;          // [local rank]: that rank has finished everything before this position
  std::size_t longest_lines;  // of one operation: a share of the ring
  // Of what is under way.
  struct Exchange {
    std::uint64_t lines_of_place = 0;  // of blocks
    std::uint64_t places = 0;
    int next_read = 0;  // of a call that must not wait: the lines of all ranks before this one are there
  };
  Exchange exchange;
  std::unique_ptr<char[]> scratch;
  char* incoming;  // one message each, in scratch
  char* result;

  // --- Channels ---
  std::array<Channel, channel_count> channels;

  // --- Streams ---
  void map_streams(Counter* counters, char* rings);
  StreamEnd& stream_end(int peer, bool is_writing) {
    return streams.ends[2 * static_cast<std::size_t>(peer) + (is_writing ? 1 : 0)];
  }
  void map_common_streams(Counter* counters, char* rings);
  void begin_stream(StreamEnd* end, char* block, std::size_t bytes);
  bool goes_on(StreamEnd* end);
  bool may_write(const StreamEnd& end);
  struct Streams {
    std::size_t bytes = 0;  // of a ring
    // A block goes in some pieces, so that reading one overlaps writing the next.
    std::size_t pieces_of_block = 4;
    std::vector<StreamEnd> ends;        // by peer and direction
    StreamEnd to_all;                   // this rank's to its readers
    std::vector<StreamEnd> from_all;    // by peer: what it gives its readers
    bool has_common_blocks = false;     // what the own rings hold is of `to_all`
    std::vector<StreamEnd*> under_way;  // with room for all
  };
  Streams streams;

  // --- Transfers ---
  struct Puts {
    std::uint32_t number = 0;
    std::uint32_t trial_interval = 0;
    std::uint32_t next_trial = 0;  // number of the put at which it begins
    int hopeless = 0;              // puts of a trial, one after the other
    TransferMode mode = plain;
    std::array<float, 2> cost{};  // by mode, as in TransferHints

    static constexpr std::uint32_t least_interval = 64, most_interval = 4096;
    void postpone_trial() {
      trial_interval = std::clamp(2 * trial_interval, least_interval, most_interval);
      next_trial = number + trial_interval;
      hopeless = 0;
    }
  };
  std::atomic<std::uint8_t>& stamp_of(const void* slot, int owner) const;
  float cost(std::size_t size_class, TransferMode mode) const;
  void weigh(std::size_t size_class);
  void end_hopeless_trial(std::size_t size_class, float put_cost);
  std::uint32_t settling_puts() const;
  std::uint8_t timing_of(const Puts& puts, std::uint32_t number) const;
  struct Transfers {
    std::uint32_t slots_in_use = 0;  // that a rank writes in turn, of the last use of a channel
    TransferHints* hints = nullptr;  // [local rank]
    std::array<Puts, transfer_classes> puts{};
    std::array<std::uint32_t, transfer_classes> gets{};
  };
  Transfers transfers;
  const char* memory;

  SingleCopy single_copy;
  // In shared memory, for ranks that sleep.
  struct Bells {
    Doorbell* doorbell = nullptr;
    // [row]: ranks that have begun with operations there, of all laps.
    std::atomic<std::uint64_t>* arrivals = nullptr;
  };
  Bells bells;
};

}  // namespace unisono::shm
