// SPDX-License-Identifier: BSD-3-Clause
#include "matching/collective_lists.h"

#include <algorithm>
#include <cmath>

namespace unisono::matching {

void CollectiveLists::searched(const Envelope& envelope, std::uint64_t looked_at, ListNumbers* numbers) {
  const Kind kind = envelope.kind;
  const auto [place, is_new] =
      profiled_.try_emplace({kind.operation, kind.bytes_class, kind.ranks_class}, Profiled{kind.call});
  Profiled& profiled = place->second;
  if (profiled.is_over) return;
  if (kind.call != profiled.first_call) {
    profiled.is_over = true;
    add_level(kind.operation, profiled, numbers);
    return;
  }
  const std::vector<Level>& levels = levels_[kind.operation];
  ++profiled.searches;
  profiled.looked_at += static_cast<double>(looked_at) * (levels.empty() ? 1 : levels.back().count);
}

void CollectiveLists::add_level(std::uint8_t operation, const Profiled& profiled, ListNumbers* numbers) {
  if (profiled.searches == 0) return;
  std::vector<Level>& levels = levels_[operation];
  const double average = profiled.looked_at / static_cast<double>(profiled.searches);
  const double left = most_lists_ - dedicated_;
  const auto count = static_cast<std::uint32_t>(std::min(std::round(average), left));
  if (count <= (levels.empty() ? 0 : levels.back().count)) return;
  levels.push_back({numbers->more(count), count});
  dedicated_ += count;
}

std::size_t CollectiveLists::bytes() const {
  constexpr std::size_t bytes_of_a_map_node = 4 * sizeof(void*);
  std::size_t bytes = levels_.capacity() * sizeof(levels_[0]) +
                      profiled_.size() * (sizeof(decltype(profiled_)::value_type) + bytes_of_a_map_node);
  for (const auto& levels : levels_) bytes += levels.capacity() * sizeof(Level);
  return bytes;
}

}  // namespace unisono::matching
