// SPDX-License-Identifier: BSD-3-Clause
// On which cores a benchmark runs.
#pragma once

#include <sched.h>

#include <vector>

namespace unisono {

inline std::vector<int> usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> found;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) found.push_back(core);
  }
  return found;
}

// This thread, and those that it starts.
inline void stay_on(int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

}  // namespace unisono
