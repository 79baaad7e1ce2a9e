// SPDX-License-Identifier: BSD-3-Clause
#include "matching/perfect_hash.h"

#include <algorithm>

namespace unisono::matching {

// The source wants m * m >= the largest key. That one would need a row more where m * m equals it: here
// m * m is larger.
PerfectHash::PerfectHash(const std::vector<std::uint64_t>& keys) {
  const std::uint64_t largest = keys.empty() ? 0 : std::ranges::max(keys);
  while (side_ * side_ <= largest) ++side_;
  std::vector<std::vector<std::uint32_t>> rows(side_);  // the places of a row's keys in `keys`
  for (std::uint32_t i = 0; i < keys.size(); ++i) rows[keys[i] / side_].push_back(i);
  shifts_.resize(side_);
  for (std::uint64_t row = 0; row < side_; ++row) {
    const auto fits = [&](std::uint64_t shift) {
      return std::ranges::all_of(rows[row], [&](std::uint32_t i) {
        const std::uint64_t place = shift + keys[i] % side_;
        return place >= entries_.size() || entries_[place].key == ~0ULL;
      });
    };
    while (!fits(shifts_[row])) ++shifts_[row];
    for (const std::uint32_t i : rows[row]) {
      const std::uint64_t place = shifts_[row] + keys[i] % side_;
      if (place >= entries_.size()) entries_.resize(place + 1);
      entries_[place] = {keys[i], i};
    }
  }
}

}  // namespace unisono::matching
