// SPDX-License-Identifier: BSD-3-Clause
// In which order MPI_Waitany and MPI_Testany look at their requests, so that none waits for ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "adapter/below/family.h"

namespace unisono::adapter::mixed {

// Where a look for any one begins. The first one is taken, ours before the MPI's: programs know it of MPIs.
// Where the program starts that one again at once, those behind it would wait for ever.
struct Beginning {
  int place = 0;
  bool is_with_host = false;
};

// How many looks at an array have found the same place again, or one in front of it. Where somebody waits
// behind others each look finds one. Programs that rely on the order make few such looks.
struct Streak {
  const MPI_Request* requests = nullptr;
  int count = 0;
  unsigned looks = 0;
  int place = 0;

  void note(int found) {
    looks += found <= place ? 1 : 0;
    place = found;
  }
  void end() { looks = 0; }
};

// Of this thread's last few arrays.
inline Streak& streak_of(const MPI_Request* requests, int count) {
  static thread_local std::array<Streak, 4> streaks;
  static thread_local std::size_t next = 0;
  for (Streak& streak : streaks) {
    if (streak.requests == requests && streak.count == count) return streak;
  }
  Streak& streak = streaks[next++ % streaks.size()];
  streak = {.requests = requests, .count = count};
  return streak;
}

// Behind a long streak some looks begin anywhere, half of them with the MPI's. They come at random: a fixed
// turn could always meet the same one.
inline Beginning next_beginning(const Streak& streak) {
  constexpr unsigned looks_in_order = 256, looks_per_turn = 32;
  static thread_local std::uint64_t state = 0;
  if (streak.looks < looks_in_order) return {};
  state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's
  const std::uint64_t drawn = state >> 32;
  if (drawn % looks_per_turn != 0) return {};
  const std::uint64_t rest = drawn / looks_per_turn;
  return {.place = static_cast<int>(rest / 2 % static_cast<unsigned>(streak.count)),
          .is_with_host = rest % 2 != 0};
}

}  // namespace unisono::adapter::mixed
