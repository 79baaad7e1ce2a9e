// SPDX-License-Identifier: BSD-3-Clause
// How many cache lines a message of the fused operations takes.
#pragma once

#include <cstddef>

#include "shm/slice/slice.h"

namespace unisono::shm {

inline constexpr std::size_t payload_bytes = 56;  // of a line that carries its flag

// Up to so many lines a message travels line by line, each with its own flag. Longer messages lie in the
// rank's block as they are, behind one flag. That flag comes first and alone, but then the lines come
// together. Measured: 137 against 146 ns at 256 bytes, 193 against 172 at 512, 1260 against 760 at 4096.
inline constexpr std::size_t most_flagged_lines = 5;

constexpr bool is_in_lines(std::size_t bytes) {
  return bytes <= most_flagged_lines * payload_bytes;
}

// How many lines a message of `bytes` takes.
constexpr std::size_t lines_of(std::size_t bytes) {
  const std::size_t unit = is_in_lines(bytes) ? payload_bytes : cache_line_bytes;
  return (bytes + unit - 1) / unit;
}

// The longest message that takes no more than `lines`.
constexpr std::size_t bytes_in(std::size_t lines) {
  return lines * (lines <= most_flagged_lines ? payload_bytes : cache_line_bytes);
}

}  // namespace unisono::shm
