// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.2: the first of many keys that fits, eight at a time where the processor has vectors.
#pragma once

#include <cstdint>
#include <string_view>

namespace unisono::matching {

inline constexpr int vector_keys = 8;  // what is compared at once: one line

struct KeyVectors {
  const std::uint64_t* keys;      // on a line of memory
  const std::uint64_t* masks;     // null: all bits count
  const std::uint32_t* contexts;  // compared where a key fits
};

// Looks from `begin`, a multiple of vector_keys, up to `end`; what stands behind `end` in the last vector can
// be read. -1 where none fits.
using FindKey = int (*)(const KeyVectors& vectors, int begin, int end, std::uint64_t key, std::uint64_t mask,
                        std::uint32_t context);

// The means of this build: "AVX-512" and "AVX2", or "NEON"; and "plain" on any processor.
struct VectorMeans {
  std::string_view name;
  bool (*is_there)();  // on this processor
  FindKey find;
};
const VectorMeans* vector_means(int number);  // the best one first; null behind the last
FindKey best_find_key();

}  // namespace unisono::matching
