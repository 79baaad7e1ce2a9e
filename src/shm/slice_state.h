// SPDX-License-Identifier: BSD-3-Clause
// What a slice keeps: addresses into the shared memory, and this rank's own counters. All counters that are
// not in shared memory advance in the same way on all local ranks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shm/slice.h"

namespace unisono::shm {

// One line of a fused ring: data and flag arrive together. `sequence` is the line's position + 1; it is never
// cleared. The payload is plain memory: readers touch it after they have seen the sequence (acquire), the
// writer after it knows that all have read it (State::make_room).
struct alignas(cache_line_bytes) Line {
  static constexpr std::size_t payload_bytes = 56;
  char payload[payload_bytes];
  std::atomic<std::uint64_t> sequence;
};
static_assert(sizeof(Line) == cache_line_bytes);

// A counter with one writer, alone on its cache line.
struct alignas(cache_line_bytes) Counter {
  std::atomic<std::uint64_t> value;
};

// Where the parts of a slice begin, bytes.
struct SliceLayout {
  explicit SliceLayout(const SliceShape& shape);
  std::size_t doorbell, consumed, flags, exposures, rings, areas, end;
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
  bool is_common = false;
  int buffers = 0;
  std::size_t slot_bytes = 0;
  std::array<std::uint64_t, max_buffers> past_ticks{};

  // What this rank has seen of the flags.
  std::vector<std::uint64_t> seen;
  std::uint64_t all_seen = 0;
};

struct Slice::State {
  State(void* memory, const SliceShape& shape, int local_rank, const int* process_ids);

  // --- Fused rings ---
  Line* line(int rank, std::uint64_t position) const {
    return ring +
           ((position & ring_mask) * static_cast<std::uint64_t>(size) + static_cast<std::uint64_t>(rank));
  }
  // Before an operation: there is room in every ring for the longest operation.
  void begin_operation(const WaitConfig& wait) {
    if (position > soft_limit) make_room(wait);
  }
  void make_room(const WaitConfig& wait);
  // Copies `bytes` into this rank's lines from `position` on, and the other way round from another rank's.
  void post(const void* data, std::size_t bytes, const WaitConfig& wait);
  void fetch(void* data, std::size_t bytes, int rank, const WaitConfig& wait);
  const char* await_payload(int rank, std::uint64_t at, const WaitConfig& wait);
  // A rank's part of a reduction: where it lies already, or copied to `room`.
  const void* contribution(int rank, const void* own, std::size_t bytes, char* room, const WaitConfig& wait);
  void reduce_in_rank_order(void* into, const void* from, std::size_t count, const Combine& combine,
                            const WaitConfig& wait);

  int size;
  int rank;
  std::uint64_t position = 0;    // lines that all operations before have used
  std::uint64_t soft_limit = 0;  // at most this position may be begun without another look (make_room)
  std::uint64_t peers_done = 0;  // all ranks have finished everything before this position
  std::uint64_t published = 0;   // what the own `consumed` says
  std::uint64_t ring_mask;
  Line* ring;
  Counter* consumed;          // [local rank]: that rank has finished everything before this position
  std::size_t longest_lines;  // of one operation
  std::unique_ptr<char[]> scratch;
  char* incoming;  // one message each, in scratch
  char* result;

  // --- Channels ---
  std::array<Channel, channel_count> channels;

  std::vector<int> process_ids;
  Doorbell* doorbell;
};

}  // namespace unisono::shm
