// SPDX-License-Identifier: BSD-3-Clause
#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace spmm {
namespace {

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

double number_but_zero(std::uint64_t seed, int row, int column) {
  const double number =
      small_number(seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
  return number == 0.0 ? 1.0 : number;
}

}  // namespace

double small_number(std::uint64_t seed, std::uint64_t row, std::uint64_t column) {
  const std::uint64_t hash = mixed(mixed(mixed(seed + 0x9e3779b97f4a7c15u) + row) + column);
  return static_cast<double>(hash % 19) - 9.0;
}

SparseMatrix by_rows(int rows, int columns, std::vector<Element> elements) {
  std::stable_sort(elements.begin(), elements.end(), [](const Element& one, const Element& other) {
    return one.row != other.row ? one.row < other.row : one.column < other.column;
  });
  SparseMatrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.starts.assign(static_cast<std::size_t>(rows) + 1, 0);
  const Element* before = nullptr;
  for (const Element& element : elements) {
    if (before != nullptr && before->row == element.row && before->column == element.column) {
      matrix.value_of.back() += element.value;
    } else {
      matrix.column_of.push_back(element.column);
      matrix.value_of.push_back(element.value);
      ++matrix.starts[static_cast<std::size_t>(element.row) + 1];
    }
    before = &element;
  }
  for (int i = 0; i < rows; ++i) matrix.starts[i + 1] += matrix.starts[i];
  return matrix;
}

SparseMatrix transposed(const SparseMatrix& matrix) {
  std::vector<Element> elements;
  elements.reserve(matrix.column_of.size());
  for (int i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.starts[i]; k < matrix.starts[i + 1]; ++k) {
      elements.push_back({matrix.column_of[k], i, matrix.value_of[k]});
    }
  }
  return by_rows(matrix.columns, matrix.rows, std::move(elements));
}

SparseMatrix random_matrix(int rows, double density, std::uint64_t seed) {
  std::vector<Element> elements;
  if (density <= 0.0) return by_rows(rows, rows, elements);
  std::mt19937_64 random(seed);
  // How many places are empty before the next element: geometric, made from uniform bits so that all standard
  // libraries give the same.
  const double scale = density < 1.0 ? 1.0 / std::log1p(-density) : 0.0;
  const std::int64_t places = static_cast<std::int64_t>(rows) * rows;
  for (std::int64_t place = 0; place < places; ++place) {
    const double uniform = (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
    const double skipped = std::floor(std::log(uniform) * scale);
    if (skipped >= static_cast<double>(places - place)) break;
    place += static_cast<std::int64_t>(skipped);
    const int row = static_cast<int>(place / rows), column = static_cast<int>(place % rows);
    elements.push_back({row, column, number_but_zero(seed, row, column)});
  }
  return by_rows(rows, rows, std::move(elements));
}

SparseMatrix banded_matrix(int rows, int half_width, std::uint64_t seed) {
  std::vector<Element> elements;
  for (int row = 0; row < rows; ++row) {
    const int first = std::max(0, row - half_width), last = std::min(rows - 1, row + half_width);
    for (int column = first; column <= last; ++column) {
      elements.push_back({row, column, number_but_zero(seed, row, column)});
    }
  }
  return by_rows(rows, rows, std::move(elements));
}

SparseMatrix stencil_matrix(int side, int radius, std::uint64_t seed) {
  std::vector<Element> elements;
  const auto near = [&](int at, auto&& visit) {
    for (int i = std::max(0, at - radius); i <= std::min(side - 1, at + radius); ++i) visit(i);
  };
  for (int row = 0; row < side * side; ++row) {
    near(row / side, [&](int y) {
      near(row % side, [&](int x) {
        const int column = y * side + x;
        elements.push_back({row, column, number_but_zero(seed, row, column)});
      });
    });
  }
  return by_rows(side * side, side * side, std::move(elements));
}

}  // namespace spmm
