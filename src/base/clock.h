// SPDX-License-Identifier: BSD-3-Clause
// The clock by which everything is timed: it goes on steadily, and its zero means nothing.
#pragma once

#include <time.h>

#include <cstdint>

namespace unisono {

inline std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline double now_s() {
  return 1e-9 * static_cast<double>(now_ns());
}

}  // namespace unisono
