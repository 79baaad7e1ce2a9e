// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/runs.h"

#include <algorithm>

namespace unisono::algorithms {

Runs::Runs(const schedule::Problem& problem)
    : is_uneven_(has_uneven_blocks(problem.operation)),
      all_(problem.blocks),
      size_(problem.size),
      rank_(problem.rank) {}

std::int64_t Runs::longest() const {
  std::int64_t longest = 1;
  for (int rank = 0; all_.starts && rank < size_; ++rank) longest = std::max(longest, length(rank));
  return longest;
}

}  // namespace unisono::algorithms
