// SPDX-License-Identifier: BSD-3-Clause
// Boxes of cells in up to four dimensions, and fields of cells with a border around them.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace stencil {

constexpr int most_dimensions = 4;

// Numbers along each dimension; what is not used is 0.
using Vector = std::array<int, most_dimensions>;

// Cells from `low` to before `high`. In dimensions that are not used a box has one cell: 0.
struct Box {
  Vector low{};
  Vector high{};

  bool is_empty() const;
  std::int64_t cells() const;
  Box moved(const Vector& by) const;
};

Box common(const Box& one, const Box& other);

// A box of cells from 0 on, with a border of `border` cells around it, which begins at -border. The last
// dimension is consecutive in memory.
class Field {
 public:
  Field() = default;
  Field(int dimensions, const Vector& sides, int border);

  Box inside() const { return inside_; }
  Vector sides_with_border() const;
  std::int64_t at(const Vector& place) const;
  double* data() { return values_.data(); }
  double& operator[](const Vector& place) { return values_[static_cast<std::size_t>(at(place))]; }
  // How far in memory the cell lies that is so many steps away.
  std::int64_t distance(const Vector& steps) const;

 private:
  int dimensions_ = 0;
  int border_ = 0;
  Box inside_;
  std::array<std::int64_t, most_dimensions> strides_{};
  std::vector<double> values_;
};

// Calls visit(place, length) for each row of a box: cells that lie side by side in the last dimension used.
template <typename Visit>
void for_each_row(const Box& box, int dimensions, Visit&& visit) {
  if (box.is_empty()) return;
  const int last = dimensions - 1;
  Vector place = box.low;
  const int length = box.high[last] - box.low[last];
  for (;;) {
    visit(std::as_const(place), length);
    int d = last - 1;
    for (; d >= 0; --d) {
      if (++place[d] < box.high[d]) break;
      place[d] = box.low[d];
    }
    if (d < 0) return;
  }
}

}  // namespace stencil
