// SPDX-License-Identifier: BSD-3-Clause
// The middle layer: four ways to share a product among the threads of a process.
#pragma once

#include <string_view>
#include <vector>

#include "cache.h"
#include "matrix.h"

namespace matmul {

// What each thread does with its parts, and by how many threads.
struct Work {
  CacheAlgorithm multiply;
  int side;
  int threads;
};

// C += A B.
using ThreadAlgorithm = void (*)(View c, View a, View b, const Work& work);

struct NamedThreadAlgorithm {
  std::string_view name;
  ThreadAlgorithm multiply;
  std::string_view about;
};

const std::vector<NamedThreadAlgorithm>& thread_algorithms();

}  // namespace matmul
