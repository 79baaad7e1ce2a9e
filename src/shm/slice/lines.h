// SPDX-License-Identifier: BSD-3-Clause
// The lines of the fused rings, as fused operations write and read them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shm/slice/line_shape.h"
#include "shm/slice/slice_state.h"

namespace unisono::shm {

inline bool is_there(const Line& line, std::uint64_t at) {
  return line.sequence.load(std::memory_order_acquire) == at + 1;
}

// The usual sizes of a single element are copied without a call.
inline void copy_short(void* into, const void* from, std::size_t bytes) {
  if (bytes == 8) {
    std::memcpy(into, from, 8);
  } else if (bytes == 4) {
    std::memcpy(into, from, 4);
  } else if (bytes != 0) {
    std::memcpy(into, from, bytes);
  }
}

// The payload before the flag.
inline void post_line(Line* line, const void* data, std::size_t bytes, std::uint64_t at) {
  copy_short(line->payload, data, bytes);
  line->sequence.store(at + 1, std::memory_order_release);
}

}  // namespace unisono::shm
