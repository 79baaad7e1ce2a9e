// SPDX-License-Identifier: BSD-3-Clause
// Numbers that look random, and are the same on all machines.
#pragma once

#include <cstdint>

namespace unisono::patterns {

// Each bit of the result depends on all bits given; no two numbers give the same.
constexpr std::uint64_t mixed_bits(std::uint64_t value) {
  constexpr std::uint64_t first = 0xff51afd7ed558ccd, second = 0xc4ceb9fe1a85ec53;
  value = (value ^ (value >> 33)) * first;
  value = (value ^ (value >> 33)) * second;
  return value ^ (value >> 33);
}

}  // namespace unisono::patterns
