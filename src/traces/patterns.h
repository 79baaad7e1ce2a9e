// SPDX-License-Identifier: BSD-3-Clause
// Traces like those of programs that the source has looked at. Its own traces are not to be had: these are
// made of what it says of each program, in the order of the queues.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/trace.h"

namespace unisono::traces {

struct Pattern {
  std::string_view name;
  std::string_view sentence;
  int standard_ranks, standard_steps;
  Trace (*make)(int ranks, int steps, std::uint64_t seed);
};
const std::vector<Pattern>& patterns();
inline constexpr int most_pattern_ranks = 1 << 16;
// What a trace may have.
inline constexpr std::uint64_t most_pattern_events = std::uint64_t{1} << 25;

}  // namespace unisono::traces
