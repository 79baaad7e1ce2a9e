// SPDX-License-Identifier: BSD-3-Clause
// The lowest layer: six ways to multiply in one thread, which differ in how they use the cache.
#pragma once

#include <string_view>
#include <vector>

#include "matrix.h"

namespace matmul {

// C += A B. `side` is that of blocks of which three fit into the cache.
using CacheAlgorithm = void (*)(View c, View a, View b, int side);

struct NamedCacheAlgorithm {
  std::string_view name;
  CacheAlgorithm multiply;
  std::string_view about;
};

const std::vector<NamedCacheAlgorithm>& cache_algorithms();

// The largest power of two whose square block of doubles has at most so many bytes.
int block_side(int bytes);

}  // namespace matmul
