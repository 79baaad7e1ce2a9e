// SPDX-License-Identifier: BSD-3-Clause
// The processor's own clock, where it goes on steadily, else the system's: what a call that is counted can
// afford to read twice.
#pragma once

#include <cstdint>

#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace unisono {

#if defined(__x86_64__)
// Does the counter of this processor go on at one speed?
inline bool find_steady_counter() {
  constexpr unsigned power_management = 0x80000007, is_invariant = 1U << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(power_management, &a, &b, &c, &d) != 0 && (d & is_invariant) != 0;
}
inline const bool has_steady_counter = find_steady_counter();

inline std::uint64_t ticks() {
  return has_steady_counter ? __rdtsc() : now_ns();
}
// The same where it does, without a look at that.
inline std::uint64_t counted_ticks() {
  return __rdtsc();
}
#elif defined(__aarch64__)
inline std::uint64_t ticks() {
  std::uint64_t count = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}
inline constexpr bool has_steady_counter = true;
inline std::uint64_t counted_ticks() {
  return ticks();
}
#else
inline constexpr bool has_steady_counter = true;
inline std::uint64_t counted_ticks() {
  return now_ns();
}
inline std::uint64_t ticks() {
  return now_ns();
}
#endif

}  // namespace unisono
