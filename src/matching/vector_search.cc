// SPDX-License-Identifier: BSD-3-Clause
// The processor is asked once which vectors it has; all with AArch64 have NEON. Libraries for vectors were
// left out: one loop needs none, and Unisono then builds without them.
#include "matching/vector_search.h"

#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace unisono::matching {
namespace {

// The first of the vector's places in `fitting`, a bit each, that is before `end` and has the context.
inline int checked(const KeyVectors& vectors, unsigned fitting, int begin, int end, std::uint32_t context) {
  for (; fitting != 0; fitting &= fitting - 1) {
    const int index = begin + std::countr_zero(fitting);
    if (index < end && vectors.contexts[index] == context) return index;
  }
  return -1;
}

// A compiler may make vectors of this as well, of whatever the machine has.
int find_plain(const KeyVectors& vectors, int begin, int end, std::uint64_t key, std::uint64_t mask,
               std::uint32_t context) {
  for (int at = begin; at < end; at += vector_keys) {
    unsigned fitting = 0;
    for (int i = 0; i < vector_keys; ++i) {
      const std::uint64_t bits = vectors.masks == nullptr ? mask : vectors.masks[at + i] & mask;
      fitting |= (((vectors.keys[at + i] ^ key) & bits) == 0 ? 1U : 0U) << i;
    }
    if (fitting == 0) continue;
    if (const int index = checked(vectors, fitting, at, end, context); index >= 0) return index;
  }
  return -1;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) int find_avx512(const KeyVectors& vectors, int begin, int end,
                                                   std::uint64_t key, std::uint64_t mask,
                                                   std::uint32_t context) {
  const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(key));
  const __m512i all_bits = _mm512_set1_epi64(static_cast<long long>(mask));
  for (int at = begin; at < end; at += vector_keys) {
    __m512i bits = all_bits;
    if (vectors.masks != nullptr) bits = _mm512_and_si512(bits, _mm512_load_si512(vectors.masks + at));
    const __m512i other = _mm512_xor_si512(_mm512_load_si512(vectors.keys + at), wanted);
    const unsigned fitting = _mm512_testn_epi64_mask(other, bits);
    if (fitting == 0) continue;
    if (const int index = checked(vectors, fitting, at, end, context); index >= 0) return index;
  }
  return -1;
}

__attribute__((target("avx2"))) inline unsigned fitting_avx2(const KeyVectors& vectors, int at,
                                                             __m256i wanted, __m256i bits) {
  const auto* keys = reinterpret_cast<const __m256i*>(vectors.keys + at);
  if (vectors.masks != nullptr)
    bits = _mm256_and_si256(bits, _mm256_load_si256(reinterpret_cast<const __m256i*>(vectors.masks + at)));
  const __m256i other = _mm256_and_si256(_mm256_xor_si256(_mm256_load_si256(keys), wanted), bits);
  const __m256i equal = _mm256_cmpeq_epi64(other, _mm256_setzero_si256());
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
}

__attribute__((target("avx2"))) int find_avx2(const KeyVectors& vectors, int begin, int end,
                                              std::uint64_t key, std::uint64_t mask, std::uint32_t context) {
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key));
  const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(mask));
  for (int at = begin; at < end; at += vector_keys) {
    const unsigned fitting =
        fitting_avx2(vectors, at, wanted, bits) | fitting_avx2(vectors, at + 4, wanted, bits) << 4;
    if (fitting == 0) continue;
    if (const int index = checked(vectors, fitting, at, end, context); index >= 0) return index;
  }
  return -1;
}

#elif defined(__aarch64__)

// Of two keys: all bits set where one fits.
inline uint64x2_t fitting_pair(const KeyVectors& vectors, int at, uint64x2_t wanted, uint64x2_t bits) {
  if (vectors.masks != nullptr) bits = vandq_u64(bits, vld1q_u64(vectors.masks + at));
  return vceqzq_u64(vandq_u64(veorq_u64(vld1q_u64(vectors.keys + at), wanted), bits));
}
inline uint16x4_t fitting_four(const KeyVectors& vectors, int at, uint64x2_t wanted, uint64x2_t bits) {
  return vmovn_u32(vcombine_u32(vmovn_u64(fitting_pair(vectors, at, wanted, bits)),
                                vmovn_u64(fitting_pair(vectors, at + 2, wanted, bits))));
}

int find_neon(const KeyVectors& vectors, int begin, int end, std::uint64_t key, std::uint64_t mask,
              std::uint32_t context) {
  constexpr std::uint8_t weights[] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x8_t bit_of = vld1_u8(weights);
  const uint64x2_t wanted = vdupq_n_u64(key), bits = vdupq_n_u64(mask);
  for (int at = begin; at < end; at += vector_keys) {
    const uint8x8_t all = vmovn_u16(
        vcombine_u16(fitting_four(vectors, at, wanted, bits), fitting_four(vectors, at + 4, wanted, bits)));
    const unsigned fitting = vaddv_u8(vand_u8(all, bit_of));
    if (fitting == 0) continue;
    if (const int index = checked(vectors, fitting, at, end, context); index >= 0) return index;
  }
  return -1;
}

#endif

constexpr VectorMeans plain = {"plain", [] { return true; }, find_plain};
#if defined(__x86_64__)
constexpr auto means = std::to_array<VectorMeans>({
    {"AVX-512", [] { return __builtin_cpu_supports("avx512f") != 0; }, find_avx512},
    {"AVX2", [] { return __builtin_cpu_supports("avx2") != 0; }, find_avx2},
    plain,
});
#elif defined(__aarch64__)
constexpr auto means = std::to_array<VectorMeans>({{"NEON", [] { return true; }, find_neon}, plain});
#else
constexpr auto means = std::to_array<VectorMeans>({plain});
#endif

}  // namespace

const VectorMeans* vector_means(int number) {
  return number < static_cast<int>(means.size()) ? &means[static_cast<std::size_t>(number)] : nullptr;
}

FindKey best_find_key() {
  static const FindKey best = [] {
    int number = 0;
    while (!vector_means(number)->is_there()) ++number;
    return vector_means(number)->find;
  }();
  return best;
}

}  // namespace unisono::matching
