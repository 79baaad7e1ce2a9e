// SPDX-License-Identifier: BSD-3-Clause
#include "shm/slice/slot_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace unisono::shm {

namespace {

// Bytes of the cache `index` of the first processor as the kernel tells them ("32768K"); 0 where it does not.
std::size_t cache_bytes(int index) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  std::size_t size = 0;
  char unit = 0;
  if (!(file >> size)) return 0;
  file >> unit;
  return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

}  // namespace

// Not sysconf: in virtual machines it tells ten times as much.
std::size_t last_level_cache_bytes() {
  static const std::size_t bytes = [] {
    constexpr std::size_t guess = 32 << 20;
    std::size_t largest = 0;
    for (int index = 0; index < 5; ++index) largest = std::max(largest, cache_bytes(index));
    return largest == 0 ? guess : largest;
  }();
  return bytes;
}

#if defined(__x86_64__)

void copy_streaming(void* into, const void* from, std::size_t bytes) {
  if (bytes == 0) return;  // the addresses may then be null, which memcpy does not allow
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
  if (bytes != 0) std::memcpy(into, from, bytes);
}

#endif

}  // namespace unisono::shm
