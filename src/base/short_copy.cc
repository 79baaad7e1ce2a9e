// SPDX-License-Identifier: BSD-3-Clause
#include "base/short_copy.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace unisono {

#if defined(__x86_64__)

void copy_by_vectors(void* into, const void* from, std::size_t bytes) {
  constexpr std::size_t vectors = 4, step_bytes = vectors * sizeof(__m128i);
  auto* to = static_cast<char*>(into);
  const auto* source = static_cast<const char*>(from);
  for (; bytes >= step_bytes; bytes -= step_bytes, to += step_bytes, source += step_bytes) {
    __m128i held[vectors];
    for (std::size_t i = 0; i < vectors; ++i)
      held[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source) + i);
    for (std::size_t i = 0; i < vectors; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + i, held[i]);
  }
  std::memcpy(to, source, bytes);
}

#else

void copy_by_vectors(void* into, const void* from, std::size_t bytes) {
  std::memcpy(into, from, bytes);
}

#endif

}  // namespace unisono
