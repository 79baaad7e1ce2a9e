// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.1: the begin of a block of elements, of lists of arrays and of vectors.
//
// Elements stand from `head` on, before `tail`; some of them are holes. Instead of an array of hole marks a
// hole has a context that no communicator has. The source gives a rank 16 bits. Here it has 32, and elements
// have the number that says which of two queues' elements is older: 24 bytes in both queues, two a line.
#pragma once

#include <cstdint>

#include "matching/element.h"

namespace unisono::matching {

struct BlockHead {
  void* next;
  // Elements' numbers are kept as 32 bits beyond `base` times 2^20.
  std::uint64_t base : 40;
  std::uint64_t head : 12;
  std::uint64_t tail : 12;

  static constexpr int base_shift = 20;

  std::uint64_t number_at(std::uint32_t offset) const { return (std::uint64_t{base} << base_shift) + offset; }
  bool can_number(std::uint64_t sequence) const {
    return sequence - (std::uint64_t{base} << base_shift) <= 0xFFFFFFFF;
  }
  std::uint32_t offset_of(std::uint64_t sequence) const {
    return static_cast<std::uint32_t>(sequence - (std::uint64_t{base} << base_shift));
  }
};
static_assert(sizeof(BlockHead) == 16);

inline constexpr std::uint32_t hole = most_contexts;

}  // namespace unisono::matching
