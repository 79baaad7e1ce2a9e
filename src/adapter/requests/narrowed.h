// SPDX-License-Identifier: BSD-3-Clause
// Large counts and displacements for hosts whose functions take ints.
#pragma once

#include <vector>

#include "adapter/below/elements.h"

namespace unisono::adapter {

// `count` of them, none where there are no arrays. What does not fit becomes a count that the host refuses,
// so that its error handler speaks.
struct Narrowed {
  Narrowed(const MPI_Count* large, const MPI_Aint* places, int count) {
    for (int i = 0; large != nullptr && i < count; ++i) {
      counts.push_back(narrowed(large[i]));
      if (places == nullptr) continue;
      displacements.push_back(static_cast<int>(places[i]));
      if (displacements.back() != places[i]) counts.back() = -1;
    }
    // So that an array is there, whatever the host looks at.
    counts.push_back(0);
    displacements.push_back(0);
  }
  std::vector<int> counts;
  std::vector<int> displacements;
};

struct NarrowedPair {
  Narrowed from, to;
};

}  // namespace unisono::adapter
