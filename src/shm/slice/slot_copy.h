// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace unisono::shm {

// Copies past the caches into memory (on x86; elsewhere as memcpy does). Everything is visible to whoever
// sees a later release store.
void copy_streaming(void* into, const void* from, std::size_t bytes);

// The machine's last-level cache, bytes; a guess where it is not told.
std::size_t last_level_cache_bytes();

}  // namespace unisono::shm
