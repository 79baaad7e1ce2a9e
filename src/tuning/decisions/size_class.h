// SPDX-License-Identifier: BSD-3-Clause
// Size classes: messages of 0 bytes, 1, 2, 3-4, 5-8, ... bytes. One decision holds for a whole class.
//
// What 'bytes' means by operation. Bcast, reduce, allreduce, scan, exscan: the vector. Gather, scatter,
// allgather, alltoall, reduce_scatter_block: the block that one rank gives to another, or gets from it.
// Allgatherv, reduce_scatter: the mean block, rounded up. Barrier, and where ranks have no length in common
// (alltoallv, alltoallw, gatherv, scatterv): 0.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace unisono::tuning {

inline constexpr int size_class_count = 50;

// 0 -> 0; 1 -> 1; 2 -> 2; 3, 4 -> 3; 5..8 -> 4; ...
constexpr int size_class(std::int64_t bytes) {
  const int c = bytes <= 0 ? 0 : 1 + std::bit_width(static_cast<std::uint64_t>(bytes - 1));
  return c < size_class_count ? c : size_class_count - 1;
}
constexpr std::int64_t class_high(int size_class) {
  return size_class == 0 ? 0 : std::int64_t{1} << (size_class - 1);
}
constexpr std::int64_t class_low(int size_class) {
  return size_class < 2 ? size_class : class_high(size_class - 1) + 1;
}

// "0 B", "8 B", "64 KiB": the upper end of the class.
std::string class_label(int size_class);

}  // namespace unisono::tuning
