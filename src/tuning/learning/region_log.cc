// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/region_log.h"

#include <algorithm>

namespace unisono::tuning {

void RegionLog::enter(std::uint64_t call, Region region) {
  while (!entered_.empty() && entered_.back().first == call) entered_.pop_back();
  if (own() != region) entered_.emplace_back(call, region);
  // The oldest entry that is kept says what the window begins with.
  while (entered_.size() > 1 && entered_[1].first + window <= call) entered_.pop_front();
}

// The regions of the calls before `call`, as far back as they are looked at, and of `call` itself.
std::vector<RegionLog::Region> RegionLog::last_calls(std::uint64_t call) const {
  std::vector<Region> regions;
  if (entered_.empty()) return regions;
  const std::uint64_t first = call < window ? 0 : call - window;
  std::size_t next = 0;
  Region now = 0;
  for (std::uint64_t i = first; i <= call; ++i) {
    while (next < entered_.size() && entered_[next].first <= i) now = entered_[next++].second;
    regions.push_back(now);
  }
  return regions;
}

std::uint64_t RegionLog::digest(std::uint64_t call) const {
  constexpr std::uint64_t offset = 14695981039346656037u, prime = 1099511628211u;
  std::uint64_t hash = offset;
  for (const Region region : last_calls(call)) {
    hash = (hash ^ region) * prime;
    hash ^= hash >> 29;
  }
  return hash >> 3;
}

void RegionLog::agree(bool is_equal, std::uint64_t call) {
  pattern_.clear();
  agreed_at_ = call;
  if (!is_equal) return;
  const std::vector<Region> seen = last_calls(call);
  if (seen.empty()) return;
  // The last two rounds are enough to believe in a third.
  const std::size_t calls = seen.size() - 1;
  for (std::size_t period = 2; 2 * period <= calls; ++period) {
    const auto end = seen.end();
    const auto back = static_cast<std::ptrdiff_t>(period);
    const bool is_repeated = std::equal(end - back, end, end - 2 * back) && *(end - 1) == *(end - 1 - back);
    const bool changes = std::any_of(end - back, end, [&](Region r) { return r != seen.back(); });
    if (!is_repeated || !changes) continue;
    // seen ends with `call` itself, which the round begins with.
    pattern_.push_back(seen.back());
    pattern_.insert(pattern_.end(), end - back, end - 1);
    return;
  }
  pattern_.push_back(seen.back());
}

}  // namespace unisono::tuning
