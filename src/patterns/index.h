// SPDX-License-Identifier: BSD-3-Clause
// Ranks, nodes and groups are ints; vectors of them, and rows of bits, are looked into by these.
#pragma once

#include <cstddef>

namespace unisono::patterns {

inline constexpr int bits_of_word = 64;

inline std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace unisono::patterns
