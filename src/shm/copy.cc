// SPDX-License-Identifier: BSD-3-Clause
#include "shm/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace unisono::shm {

#if defined(__x86_64__)

void copy_streaming(void* into, const void* from, std::size_t bytes) {
  constexpr std::size_t line_bytes = 64;
  auto* to = static_cast<char*>(into);
  const auto* source = static_cast<const char*>(from);
  // Only whole lines can bypass the caches.
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  std::memcpy(to, source, before);
  std::size_t i = before;
  for (; i + line_bytes <= bytes; i += line_bytes) {
    for (std::size_t part = 0; part < line_bytes; part += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + part)));
    }
  }
  std::memcpy(to + i, source + i, bytes - i);
  _mm_sfence();  // such stores are ordered with no later one, not even a release
}

#else

void copy_streaming(void* into, const void* from, std::size_t bytes) {
  std::memcpy(into, from, bytes);
}

#endif

}  // namespace unisono::shm
