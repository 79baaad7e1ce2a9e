// SPDX-License-Identifier: BSD-3-Clause
#include "box.h"

#include <algorithm>

namespace stencil {

bool Box::is_empty() const {
  for (int d = 0; d < most_dimensions; ++d) {
    if (low[d] >= high[d]) return true;
  }
  return false;
}

std::int64_t Box::cells() const {
  if (is_empty()) return 0;
  std::int64_t cells = 1;
  for (int d = 0; d < most_dimensions; ++d) cells *= high[d] - low[d];
  return cells;
}

Box Box::moved(const Vector& by) const {
  Box box = *this;
  for (int d = 0; d < most_dimensions; ++d) {
    box.low[d] += by[d];
    box.high[d] += by[d];
  }
  return box;
}

Box common(const Box& one, const Box& other) {
  Box box;
  for (int d = 0; d < most_dimensions; ++d) {
    box.low[d] = std::max(one.low[d], other.low[d]);
    box.high[d] = std::min(one.high[d], other.high[d]);
  }
  return box;
}

Field::Field(int dimensions, const Vector& sides, int border) : dimensions_(dimensions), border_(border) {
  inside_.high.fill(1);
  std::int64_t stride = 1;
  for (int d = dimensions - 1; d >= 0; --d) {
    inside_.high[d] = sides[d];
    strides_[d] = stride;
    stride *= sides[d] + 2 * border;
  }
  values_.assign(static_cast<std::size_t>(stride), 0.0);
}

Vector Field::sides_with_border() const {
  Vector sides{};
  for (int d = 0; d < dimensions_; ++d) sides[d] = inside_.high[d] + 2 * border_;
  return sides;
}

std::int64_t Field::at(const Vector& place) const {
  std::int64_t index = 0;
  for (int d = 0; d < dimensions_; ++d) index += (place[d] + border_) * strides_[d];
  return index;
}

std::int64_t Field::distance(const Vector& steps) const {
  std::int64_t distance = 0;
  for (int d = 0; d < dimensions_; ++d) distance += steps[d] * strides_[d];
  return distance;
}

}  // namespace stencil
