// SPDX-License-Identifier: BSD-3-Clause
// put and get (A1: sender_put, receiver_get). To write a slot that others have read means to take its lines
// away from their caches: 8 GB/s next door, 2 GB/s from a core with another last-level cache, and 30 where
// the lines have been evicted meanwhile (a large ring of slots). Written past the caches a slot takes 30 GB/s
// in every case, but then its readers fetch it from memory (8 to 16 GB/s) instead of a cache (10 to 40).
// Which is better no topology tells: virtual machines show none, and ranks migrate. So everybody measures,
// and writers take what costs less per byte in put and get together. It changes speed alone, never what is
// read: ranks need not agree on it.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"
#include "shm/copy.h"
#include "shm/slice_state.h"

namespace unisono::shm {
namespace {

// Below this size nothing is measured, and everything is plain.
constexpr std::size_t least_bytes = 16 * 1024;
// A writer weighs anew every so many puts. Changing its mind must be worth its while.
constexpr std::uint32_t puts_per_decision = 16;
constexpr float least_gain = 1.2F;
// Of so many puts the last few are of the other kind, so that changes are noticed. The first such trial comes
// early.
constexpr std::uint32_t puts_per_trial = 2048;
constexpr std::uint32_t trial_puts = 4;
constexpr std::uint32_t first_trial = 16;
// Of the other copies every fourth is measured: a look at the clock takes as long as a hundredth of a copy.
constexpr std::uint32_t copies_per_measurement = 4;

// Sizes are told apart by powers of two.
std::size_t class_of(std::size_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / least_bytes)) - 1,
                               transfer_classes - 1);
}

bool is_trial(std::uint32_t put) {
  return put % puts_per_trial >= puts_per_trial - trial_puts ||
         (put >= first_trial && put < first_trial + trial_puts);
}

// The mean over the last few copies, ns per byte; 0 before the first one. A copy in which the rank lost its
// core for a while counts as twice the mean.
float updated(float mean, float measured) {
  return mean == 0 ? measured : (mean + std::min(measured, 2 * mean)) / 2;
}

template <typename Copy>
float measured(const Copy& copy, std::size_t bytes) {
  const std::uint64_t start_ns = now_ns();
  copy();
  return std::max(static_cast<float>(now_ns() - start_ns), 1.0F) / static_cast<float>(bytes);
}

}  // namespace

std::atomic<std::uint8_t>& Slice::State::stamp_of(const void* slot, int owner) const {
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(slot) - memory) / cache_line_bytes;
  return hints[owner].stamps[offset * 0x9e3779b97f4a7c15 >> (64 - TransferHints::stamp_bits)];
}

// What putting and getting a byte costs in one mode: 0 where nobody knows yet.
float Slice::State::cost(std::size_t size_class, TransferMode mode) const {
  float sum = 0;
  int readers = 0;
  for (int peer = 0; peer < size; ++peer) {
    const float get = hints[peer].get_cost[size_class][mode].load(std::memory_order_relaxed);
    if (peer == rank || get == 0) continue;
    sum += get;
    ++readers;
  }
  const float put = puts[size_class].cost[mode];
  return readers == 0 || put == 0 ? 0 : put + sum / static_cast<float>(readers);
}

void Slice::State::weigh(std::size_t size_class) {
  const TransferMode mode = puts[size_class].mode;
  const TransferMode other = mode == plain ? streamed : plain;
  const float present = cost(size_class, mode);
  const float possible = cost(size_class, other);
  if (present != 0 && possible != 0 && present > least_gain * possible) puts[size_class].mode = other;
}

void Slice::put(void* slot, const void* from, std::size_t bytes) {
  if (bytes < least_bytes) {
    if (bytes != 0) std::memcpy(slot, from, bytes);
    return;
  }
  State& s = *state_;
  const std::size_t size_class = class_of(bytes);
  State::Puts& puts = s.puts[size_class];
  if (puts.number % puts_per_decision == 0) s.weigh(size_class);
  const bool is_trying = is_trial(puts.number);
  const bool is_measured = is_trying || puts.number % copies_per_measurement == 0;
  ++puts.number;
  const TransferMode mode = (puts.mode == streamed) != is_trying ? streamed : plain;
  s.stamp_of(slot, s.rank)
      .store(static_cast<std::uint8_t>(mode | (is_trying ? TransferHints::trial : 0)),
             std::memory_order_relaxed);
  const auto copy = [&] {
    if (mode == streamed) {
      copy_streaming(slot, from, bytes);
    } else {
      std::memcpy(slot, from, bytes);
    }
  };
  if (is_measured) {
    puts.cost[mode] = updated(puts.cost[mode], measured(copy, bytes));
  } else {
    copy();
  }
}

void Slice::get(void* into, const void* slot, std::size_t bytes, int owner, bool is_streamed) {
  State& s = *state_;
  if (bytes < least_bytes || owner == s.rank) {
    if (bytes != 0) std::memcpy(into, slot, bytes);
    return;
  }
  const std::size_t size_class = class_of(bytes);
  const std::uint8_t stamp = s.stamp_of(slot, owner).load(std::memory_order_relaxed);
  const auto copy = [&] {
    if (is_streamed) {
      copy_streaming(into, slot, bytes);
    } else {
      std::memcpy(into, slot, bytes);
    }
  };
  if (s.gets[size_class]++ % copies_per_measurement != 0 && (stamp & TransferHints::trial) == 0) {
    copy();
    return;
  }
  auto& mean = s.hints[s.rank].get_cost[size_class][stamp & streamed];
  mean.store(updated(mean.load(std::memory_order_relaxed), measured(copy, bytes)), std::memory_order_relaxed);
}

}  // namespace unisono::shm
