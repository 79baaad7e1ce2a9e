// SPDX-License-Identifier: BSD-3-Clause
// Matrices by rows, and parts of them.
#pragma once

#include <algorithm>
#include <vector>

namespace matmul {

// A part of a matrix that lies elsewhere; one row begins `stride` elements after the one before.
struct View {
  double* data = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;

  double* row(int i) const { return data + static_cast<long>(i) * stride; }

  // The part that begins at row i and column j; cut off where the matrix ends.
  View part(int i, int j, int part_rows, int part_columns) const {
    const int height = std::clamp(part_rows, 0, std::max(rows - i, 0));
    const int width = std::clamp(part_columns, 0, std::max(columns - j, 0));
    return {row(i) + j, height, width, stride};
  }
};

class Matrix {
 public:
  Matrix(int rows, int columns)
      : rows_(rows), columns_(columns), elements_(static_cast<std::size_t>(rows) * columns) {}

  View view() { return {elements_.data(), rows_, columns_, columns_}; }
  std::vector<double>& elements() { return elements_; }

 private:
  int rows_;
  int columns_;
  std::vector<double> elements_;
};

inline void copy(View from, View to) {
  for (int i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.columns, to.row(i));
}

// A matrix whose square blocks lie one after the other, each consecutive in memory.
class Blocks {
 public:
  Blocks(View of, int side)
      : side_(side),
        across_((of.columns + side - 1) / side),
        down_((of.rows + side - 1) / side),
        rows_(of.rows),
        columns_(of.columns),
        elements_(static_cast<std::size_t>(across_) * down_ * side * side) {}

  int across() const { return across_; }
  int down() const { return down_; }

  View block(int i, int j) {
    const int height = std::min(side_, rows_ - i * side_);
    const int width = std::min(side_, columns_ - j * side_);
    const long before = static_cast<long>(i) * across_ + j;
    return {elements_.data() + before * side_ * side_, height, width, width};
  }

  void take(View from) {
    for (int i = 0; i < down_; ++i) take_row(from, i);
  }
  void take_row(View from, int i) {
    for (int j = 0; j < across_; ++j) copy(from.part(i * side_, j * side_, side_, side_), block(i, j));
  }
  void give(View to) {
    for (int i = 0; i < down_; ++i) give_row(to, i);
  }
  void give_row(View to, int i) {
    for (int j = 0; j < across_; ++j) copy(block(i, j), to.part(i * side_, j * side_, side_, side_));
  }

 private:
  int side_;
  int across_;
  int down_;
  int rows_;
  int columns_;
  std::vector<double> elements_;
};

}  // namespace matmul
