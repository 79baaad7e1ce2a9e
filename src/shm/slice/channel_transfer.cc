// SPDX-License-Identifier: BSD-3-Clause
// put and get (A1: sender_put, receiver_get). A writer of a slot that others have read takes its lines away
// from their caches. That goes at 20 GB/s where cores share a cache, at 8 GB/s next door, and at 2 GB/s from
// a core with another last-level cache. A slot that is written past the caches takes 30 GB/s in every case.
// But then its readers fetch it from memory (8 to 16 GB/s) instead of a cache (10 to 40).
//
// With a core for each rank, writing past the caches is never bad, so that is how it begins. Ranks that share
// a core find in its cache what another has written, so there it begins the other way. No topology tells
// which is better: virtual machines show none, and ranks migrate. So everybody measures, and writers take
// what costs less per byte in put and get together. It changes speed alone, never what is read, so ranks need
// not agree on it.
#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "base/short_copy.h"
#include "shm/slice/slice_state.h"
#include "shm/slice/slot_copy.h"

namespace unisono::shm {
namespace {

// Below this size nothing is measured, and everything is plain.
constexpr std::size_t least_bytes = 16 * 1024;
// What is shorter stays in the caches.
constexpr std::size_t least_bytes_past_caches = 2048;
// A writer weighs anew every so many puts. Changing its mind must be worth its while.
constexpr std::uint32_t puts_per_decision = 16;
constexpr float least_gain = 1.2F;
// Now and then some puts are of the other kind, so that changes are noticed. The first trial comes soon after
// all slots have been written twice; it does not come at once, since pages are touched for the first time
// then. The next one comes some time after a change of mind, and after each trial that confirms it takes
// twice as long. Only the last few puts of a trial count: until all slots have been written in the new way,
// they lie in other caches.
constexpr std::uint32_t least_settling_puts = 8, most_settling_puts = 32;
constexpr std::uint32_t counted_puts = 8;
// Of the mode that it begins with, before the first trial.
constexpr std::uint32_t compared_puts = 4;
// A trial ends early where so many puts in a row alone cost so many times what put and get do at present.
// From core to core without a common cache a trial of blocks of 128 KiB would otherwise take as long as a
// hundred calls. As soon as all slots have been written in the new way, putting alone is hopeless where it
// costs more than put and get do at present.
constexpr int hopeless_puts = 3;
constexpr float hopeless_factor = 2, hopeless_factor_later = 1;
// Of the other copies every fourth is measured: a look at the clock takes as long as a hundredth of a copy.
constexpr std::uint32_t copies_per_measurement = 4;

// Sizes are told apart by powers of two.
std::size_t class_of(std::size_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / least_bytes)) - 1,
                               transfer_classes - 1);
}

// The mean over the last few copies, ns per byte; 0 before the first one. A copy in which the rank lost its
// core for a while counts as twice the mean.
float updated(float mean, float measured) {
  return mean == 0 ? measured : (mean + std::min(measured, 2 * mean)) / 2;
}

float cost_per_byte(const Slice::Transfer& transfer) {
  const auto taken_ns = static_cast<float>(now_ns() - transfer.start_ns);
  return std::max(taken_ns, 1.0F) / static_cast<float>(transfer.bytes);
}

}  // namespace

std::atomic<std::uint8_t>& Slice::State::stamp_of(const void* slot, int owner) const {
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(slot) - memory) / cache_line_bytes;
  return transfers.hints[owner == nobody ? 0 : owner]
      .stamps[offset * 0x9e3779b97f4a7c15 >> (64 - TransferHints::stamp_bits)];
}

// What putting and getting a byte costs in one mode: 0 where nobody knows yet.
float Slice::State::cost(std::size_t size_class, TransferMode mode) const {
  float sum = 0;
  int readers = 0;
  for (int peer = 0; peer < size; ++peer) {
    const float get = transfers.hints[peer].get_cost[size_class][mode].load(std::memory_order_relaxed);
    if (peer == rank || get == 0) continue;
    sum += get;
    ++readers;
  }
  const float put = transfers.puts[size_class].cost[mode];
  return readers == 0 || put == 0 ? 0 : put + sum / static_cast<float>(readers);
}

void Slice::State::weigh(std::size_t size_class) {
  Puts& own = transfers.puts[size_class];
  const TransferMode other = own.mode == plain ? streamed : plain;
  const float present = cost(size_class, own.mode);
  const float possible = cost(size_class, other);
  if (present == 0 || possible == 0 || present <= least_gain * possible) return;
  own.mode = other;
  own.trial_interval = Puts::least_interval;
  own.next_trial = own.number + Puts::least_interval;
}

void Slice::State::end_hopeless_trial(std::size_t size_class, float put_cost) {
  Puts& own = transfers.puts[size_class];
  const float present = cost(size_class, own.mode);
  const bool is_later = own.number > own.next_trial + settling_puts();
  const float factor = is_later ? hopeless_factor_later : hopeless_factor;
  own.hopeless = present != 0 && put_cost > factor * present ? own.hopeless + 1 : 0;
  if (own.hopeless >= hopeless_puts) own.postpone_trial();
}

// Until all slots have been written twice.
std::uint32_t Slice::State::settling_puts() const {
  return std::clamp(2 * transfers.slots_in_use, least_settling_puts, most_settling_puts);
}

// How a put is to be timed, as it stands in a stamp. The first ones meet memory that nobody has touched, in
// two places of each slot at most. So do the first gets. That takes five times as long, in either mode. Those
// behind them are what the first trial is compared with. Not all puts of a trial count.
std::uint8_t Slice::State::timing_of(const Puts& puts, std::uint32_t number) const {
  const std::uint32_t settling = settling_puts();
  if (number < settling) return TransferHints::unsettled;
  if (number < settling + compared_puts) return TransferHints::timed;
  if (number < puts.next_trial) return 0;
  return number < puts.next_trial + settling ? TransferHints::unsettled : TransferHints::timed;
}

Slice::Transfer Slice::begin_put(const void* slot, std::size_t bytes, int owner) {
  if (bytes < least_bytes) return {};
  State& s = *state_;
  const std::size_t size_class = class_of(bytes);
  State::Puts& puts = s.transfers.puts[size_class];
  const std::uint32_t number = puts.number++;
  if (number == 0) puts.next_trial = s.settling_puts() + compared_puts;
  const bool is_trial_over = number >= puts.next_trial + s.settling_puts() + counted_puts;
  if (is_trial_over) puts.postpone_trial();
  if (is_trial_over || number % puts_per_decision == 0) s.weigh(size_class);
  const TransferMode other = puts.mode == plain ? streamed : plain;
  const TransferMode mode = number >= puts.next_trial ? other : puts.mode;
  const std::uint8_t how = s.timing_of(puts, number);
  s.stamp_of(slot, owner).store(static_cast<std::uint8_t>(mode | how), std::memory_order_relaxed);
  const bool is_timed = how != 0 || number % copies_per_measurement == 0;
  return {.is_past_caches = mode == streamed,
          .bytes = bytes,
          .start_ns = is_timed ? now_ns() : 0,
          .is_settled = (how & TransferHints::unsettled) == 0};
}

void Slice::end_put(const Transfer& transfer) {
  if (transfer.start_ns == 0) return;
  const std::size_t size_class = class_of(transfer.bytes);
  State::Puts& puts = state_->transfers.puts[size_class];
  const TransferMode mode = transfer.is_past_caches ? streamed : plain;
  const float taken = cost_per_byte(transfer);
  if (mode != puts.mode) state_->end_hopeless_trial(size_class, taken);
  if (transfer.is_settled) puts.cost[mode] = updated(puts.cost[mode], taken);
}

void Slice::put(void* slot, const void* from, std::size_t bytes, int owner) {
  const Transfer transfer = begin_put(slot, bytes, owner);
  if (transfer.is_past_caches) {
    copy_streaming(slot, from, bytes);
  } else {
    copy_bytes(slot, from, bytes);
  }
  end_put(transfer);
}

void Slice::put_piece(void* slot, const void* from, std::size_t bytes) {
  if (bytes >= least_bytes_past_caches && bytes < least_bytes &&
      state_->transfers.puts.front().mode == streamed) {
    copy_streaming(slot, from, bytes);
  } else {
    put(slot, from, bytes, local_rank_);
  }
}

Slice::Transfer Slice::begin_get(const void* slot, std::size_t bytes, int owner) {
  State& s = *state_;
  if (bytes < least_bytes || owner == s.rank) return {};
  const std::uint8_t stamp = s.stamp_of(slot, owner).load(std::memory_order_relaxed);
  const bool is_sampled = s.transfers.gets[class_of(bytes)]++ % copies_per_measurement == 0;
  if ((stamp & TransferHints::unsettled) != 0) return {};
  if (!is_sampled && (stamp & TransferHints::timed) == 0) return {};
  return {.is_past_caches = (stamp & streamed) != 0, .bytes = bytes, .start_ns = now_ns()};
}

void Slice::end_get(const Transfer& transfer) {
  if (transfer.start_ns == 0) return;
  auto& mean = state_->transfers.hints[state_->rank]
                   .get_cost[class_of(transfer.bytes)][transfer.is_past_caches ? streamed : plain];
  mean.store(updated(mean.load(std::memory_order_relaxed), cost_per_byte(transfer)),
             std::memory_order_relaxed);
}

void Slice::get(void* into, const void* slot, std::size_t bytes, int owner, bool is_streamed) {
  const Transfer transfer = begin_get(slot, bytes, owner);
  if (is_streamed) {
    copy_streaming(into, slot, bytes);
  } else {
    copy_bytes(into, slot, bytes);
  }
  end_get(transfer);
}

}  // namespace unisono::shm
