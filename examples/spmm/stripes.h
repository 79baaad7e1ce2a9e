// SPDX-License-Identifier: BSD-3-Clause
// Stripes of rows: which rank has which, its part of A, its part of B.
#pragma once

// The C++ bindings that MPI 3 removed are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "matrix.h"

namespace spmm {

// Rows are dealt in their order; ranks' numbers of rows differ by one at most.
class Stripes {
 public:
  Stripes(int rows, int ranks) : rows_(rows), ranks_(ranks) {}

  int first(int rank) const { return static_cast<int>(static_cast<std::int64_t>(rows_) * rank / ranks_); }
  int count(int rank) const { return first(rank + 1) - first(rank); }
  int most() const { return (rows_ + ranks_ - 1) / ranks_; }
  int owner(int row) const {
    return static_cast<int>(((static_cast<std::int64_t>(row) + 1) * ranks_ - 1) / rows_);
  }

 private:
  int rows_;
  int ranks_;
};

int rank_in(MPI_Comm comm);
int ranks_of(MPI_Comm comm);

// Rank 0 gives each rank its rows of a matrix, which the others need not have.
SparseMatrix scattered(const SparseMatrix& whole, const Stripes& stripes, MPI_Comm comm);

// Every rank gets all of rank 0's matrix.
void broadcast(SparseMatrix& matrix, MPI_Comm comm);

// Some rows of B, which is dense: made of numbers that their places decide, or the rows of a sparse matrix.
class RightSide {
 public:
  RightSide(int first_row, int rows, std::uint64_t seed) : first_(first_row), rows_(rows), seed_(seed) {}
  RightSide(int first_row, const SparseMatrix& rows)
      : first_(first_row), rows_(rows.rows), by_columns_(transposed(rows)) {}

  // Columns `column` to `column + width`, row by row.
  void fill(int column, int width, double* elements) const;

 private:
  int first_;
  int rows_;
  std::uint64_t seed_ = 0;
  std::optional<SparseMatrix> by_columns_;
};

}  // namespace spmm
