// SPDX-License-Identifier: BSD-3-Clause
// Powers of two.
#pragma once

#include <bit>

namespace unisono::patterns {

// The largest power of two that is not above n (n >= 1).
constexpr int floor_power_of_two(int n) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}
constexpr bool is_power_of_two(int n) {
  return n > 0 && std::has_single_bit(static_cast<unsigned>(n));
}
// How many doublings lead from 1 to n or beyond (n >= 1).
constexpr int ceil_log2(int n) {
  return std::bit_width(static_cast<unsigned>(n) - 1);
}

}  // namespace unisono::patterns
