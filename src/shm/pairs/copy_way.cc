// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pairs/copy_way.h"

#include <algorithm>

#include "base/clock.h"
#include "base/short_copy.h"
#include "shm/slice/slot_copy.h"

namespace unisono::shm {
namespace {

constexpr std::uint32_t longest_interval = 4096;
// The reader may take its time: after so many messages it is no longer waited for.
constexpr int most_waited = 64;
// Small differences are the clock's. Short messages that are streamed may seem to take a little longer, and
// are quicker still: the ring's line behind them does not wait for lines that the reader has.
constexpr double worth_it = 0.95, worth_it_if_short = 1.2;

std::uint32_t median(std::uint32_t* values, int count) {
  std::nth_element(values, values + count / 2, values + count);
  return values[count / 2];
}

}  // namespace

CopyWay::Copy CopyWay::next_timed(OfLength* length) {
  const Copy untimed{.is_streaming = length->is_streaming};
  if (timing_ == nullptr) {
    timing_ = length;
    timed_ = waited_ = 0;
    for (std::atomic<std::uint32_t>& ns : times_->ns) ns.store(0, std::memory_order_relaxed);
  }
  if (timing_ != length) return untimed;
  // Each way a few times, one behind the other, since what lies in the caches comes from the copies before.
  if (timed_ < 2 * timed_of_each) return {.is_streaming = timed_ >= timed_of_each, .timed = timed_++};
  const auto* last = times_->ns + 2 * timed_of_each - 1;
  if (last->load(std::memory_order_acquire) == 0 && ++waited_ < most_waited) return untimed;
  decide(length);
  timing_ = nullptr;
  length->until_timed = length->interval;
  length->interval = std::min(2 * length->interval, longest_interval);
  return {.is_streaming = length->is_streaming};
}

// By the sum of both sides' times; pieces are written while others are read, so that the longer time counts.
// The first copy of each kind finds what the other kind has left.
void CopyWay::decide(OfLength* length) {
  const bool has_pieces = length >= &lengths_[first_in_pieces];
  std::uint32_t ns[2][timed_of_each - 1];
  for (int i = 0; i < 2 * timed_of_each; ++i) {
    const std::uint32_t reader = times_->ns[i].load(std::memory_order_relaxed);
    if (reader == 0) return;
    const int way = i / timed_of_each, turn = i % timed_of_each;
    if (turn != 0) ns[way][turn - 1] = has_pieces ? std::max(own_ns_[i], reader) : own_ns_[i] + reader;
  }
  const std::uint32_t cached = median(ns[0], timed_of_each - 1), streamed = median(ns[1], timed_of_each - 1);
  const double limit = length == &lengths_[0] ? worth_it_if_short : worth_it;
  const bool is_streaming = streamed < limit * cached;
  if (is_streaming != length->is_streaming) length->interval = OfLength().interval;
  length->is_streaming = is_streaming;
}

void CopyWay::copy(const Copy& how, void* into, const void* from, std::size_t bytes) {
  const std::uint64_t begin = how.timed < 0 ? 0 : now_ns();
  if (how.is_streaming) {
    copy_streaming(into, from, bytes);
  } else {
    copy_bytes(into, from, bytes);
  }
  if (how.timed < 0) return;
  // Until all has left this core.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  own_ns_[how.timed] = static_cast<std::uint32_t>(std::min<std::uint64_t>(now_ns() - begin, INT32_MAX));
}

}  // namespace unisono::shm
