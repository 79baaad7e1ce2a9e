// SPDX-License-Identifier: BSD-3-Clause
// M2, chapter 3: sources put into clusters, by how many elements each has put into a queue.
#pragma once

#include <cstdint>
#include <vector>

namespace unisono::matching {

struct Clusters {
  std::vector<std::uint32_t> of_source;
  std::uint32_t count = 1;
};

// The appendix: k-means with the Euclidean distance. At most `k` clusters, fewer where there are fewer
// different numbers.
Clusters k_means(const std::vector<double>& elements, int k);

// Algorithm 3.1.
Clusters clusters_by_heuristic(const std::vector<double>& elements);

}  // namespace unisono::matching
