// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrices by rows, and where they come from: Matrix Market files and generators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spmm {

struct Element {
  int row = 0;
  int column = 0;
  double value = 0.0;
};

// Row i has elements starts[i] to starts[i + 1], in the order of their columns.
struct SparseMatrix {
  int rows = 0;
  int columns = 0;
  std::vector<std::int64_t> starts{0};
  std::vector<int> column_of;
  std::vector<double> value_of;

  std::int64_t elements() const { return static_cast<std::int64_t>(column_of.size()); }
};

// Elements may come in any order. Those of one place are added up, as Matrix Market has it.
SparseMatrix by_rows(int rows, int columns, std::vector<Element> elements);

SparseMatrix transposed(const SparseMatrix& matrix);

// Throws std::runtime_error with the file, the line and what is wrong there.
SparseMatrix read_matrix_market(const std::string& path);

// A dense matrix of `rows` x `columns`, its elements by rows. Throws std::runtime_error where it cannot be
// written.
void write_matrix_market(const std::string& path, int rows, int columns, const std::vector<double>& elements);

// Generators give small whole numbers other than 0, so that every order of additions has the same result.

// Each element is there with probability `density`.
SparseMatrix random_matrix(int rows, double density, std::uint64_t seed);

// Elements up to `half_width` away from the diagonal.
SparseMatrix banded_matrix(int rows, int half_width, std::uint64_t seed);

// One row for each point of a square grid of side x side points: its neighbours up to `radius` steps away in
// both directions (the Moore neighbourhood), and itself.
SparseMatrix stencil_matrix(int side, int radius, std::uint64_t seed);

// From -9 to 9, decided by the seed and the place alone.
double small_number(std::uint64_t seed, std::uint64_t row, std::uint64_t column);

}  // namespace spmm
