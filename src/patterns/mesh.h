// SPDX-License-Identifier: BSD-3-Clause
// Ranks as a logical mesh of some dimensions. S1.
#pragma once

#include <vector>

namespace unisono::patterns {

// Coordinates count from the first dimension on, which neighbouring ranks lie along. The lengths multiply to
// the number of ranks.
class Mesh {
 public:
  // Factors of `size` as close to each other as there are; a prime leaves dimensions of length 1.
  static Mesh of(int size, int dimensions);

  int dimensions() const { return static_cast<int>(lengths_.size()); }
  int length(int dimension) const { return lengths_[dimension]; }

  // The rank that differs from `rank` in this dimension alone: `distance` (below the length) further on,
  // around the line.
  int along(int rank, int dimension, int distance) const;
  // The ranks that agree with `rank` in this dimension and all above: a run. After an allgather in each
  // dimension below, this rank has what they had.
  struct Run {
    int first;
    int last;
  };
  Run below(int rank, int dimension) const;

 private:
  explicit Mesh(std::vector<int> lengths);
  std::vector<int> lengths_;
  std::vector<int> strides_;  // between neighbours along each dimension
};

}  // namespace unisono::patterns
