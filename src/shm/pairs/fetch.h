// SPDX-License-Identifier: BSD-3-Clause
// Lines of memory that are fetched before they are written.
#pragma once

namespace unisono::shm {

// Stores leave a core one by one, each once its line is there. Lines that another core has come side by side
// where they are asked for together.
inline void fetch_for_writing(const void* line) {
#if defined(__x86_64__)
  // By itself the compiler takes the instruction that fetches a line for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace unisono::shm
