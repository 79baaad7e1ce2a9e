// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/peers.h"

#include "base/clock.h"

namespace unisono::runtime {
namespace {

// A look at the clock is for one question in so many: each comes with a poll of a call.
constexpr std::uint32_t questions_per_look_at_clock = 256;
constexpr std::uint64_t look_interval_ns = 500'000'000;

}  // namespace

bool Peers::find_lost(PeerLost* lost) const {
  for (const int rank : ranks_) {
    if (!members_.has_died(rank)) continue;
    *lost = {rank, members_.process_id(rank)};
    return true;
  }
  return false;
}

void Peers::look() {
  PeerLost lost;
  if (!find_lost(&lost)) return;
  is_lost_.store(true, std::memory_order_relaxed);
  throw lost;
}

bool Peers::are_lost_by_now() {
  if (is_lost_.load(std::memory_order_relaxed)) return true;
  if (++asked_ % questions_per_look_at_clock != 0) return false;
  const std::uint64_t now = now_ns();
  if (next_look_ns_ == 0) next_look_ns_ = now + look_interval_ns;
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + look_interval_ns;
  PeerLost lost;
  if (find_lost(&lost)) is_lost_.store(true, std::memory_order_relaxed);
  return is_lost_.load(std::memory_order_relaxed);
}

}  // namespace unisono::runtime
