// SPDX-License-Identifier: BSD-3-Clause
// Copies between a rank's memory and the node's segment (A1: sender_put, receiver_get).
#pragma once

#include <cstddef>
#include <cstring>

namespace unisono::shm {

inline void copy(void* into, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(into, from, bytes);
}

}  // namespace unisono::shm
