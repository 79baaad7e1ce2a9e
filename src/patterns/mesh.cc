// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/mesh.h"

#include <utility>

namespace unisono::patterns {

namespace {

bool is_root_at_most(int factor, int exponent, int size) {
  long long power = 1;
  for (int i = 0; i < exponent && power <= size; ++i) power *= factor;
  return power <= size;
}

// The largest factor of `size` whose power is not above it.
int factor_near_root(int size, int exponent) {
  int best = 1;
  for (int factor = 2; is_root_at_most(factor, exponent, size); ++factor) {
    if (size % factor == 0) best = factor;
  }
  return best;
}

}  // namespace

Mesh::Mesh(std::vector<int> lengths) : lengths_(std::move(lengths)) {
  int stride = 1;
  for (const int length : lengths_) {
    strides_.push_back(stride);
    stride *= length;
  }
}

Mesh Mesh::of(int size, int dimensions) {
  std::vector<int> lengths;
  for (int left = dimensions; left > 1; --left) {
    lengths.push_back(factor_near_root(size, left));
    size /= lengths.back();
  }
  lengths.push_back(size);
  return Mesh(std::move(lengths));
}

int Mesh::along(int rank, int dimension, int distance) const {
  const int stride = strides_[dimension];
  const int own = rank / stride % lengths_[dimension];
  return rank + ((own + distance) % lengths_[dimension] - own) * stride;
}

Mesh::Run Mesh::below(int rank, int dimension) const {
  const int stride = strides_[dimension];
  const int first = rank / stride * stride;
  return {first, first + stride};
}

}  // namespace unisono::patterns
