// SPDX-License-Identifier: BSD-3-Clause
#include "stripes.h"

#include <algorithm>

namespace spmm {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

SparseMatrix scattered(const SparseMatrix& whole, const Stripes& stripes, MPI_Comm comm) {
  const int rank = rank_in(comm), ranks = ranks_of(comm);
  SparseMatrix own;
  int columns = whole.columns;
  MPI_Bcast(&columns, 1, MPI_INT, 0, comm);
  own.columns = columns;
  own.rows = stripes.count(rank);
  std::vector<int> lengths, row_counts, row_places, counts, places;
  if (rank == 0) {
    for (int i = 0; i < whole.rows; ++i) {
      lengths.push_back(static_cast<int>(whole.starts[i + 1] - whole.starts[i]));
    }
    for (int r = 0; r < ranks; ++r) {
      const int first = stripes.first(r), end = stripes.first(r + 1);
      row_counts.push_back(end - first);
      row_places.push_back(first);
      counts.push_back(static_cast<int>(whole.starts[end] - whole.starts[first]));
      places.push_back(static_cast<int>(whole.starts[first]));
    }
  }
  std::vector<int> own_lengths(static_cast<std::size_t>(own.rows));
  MPI_Scatterv(lengths.data(), row_counts.data(), row_places.data(), MPI_INT, own_lengths.data(), own.rows,
               MPI_INT, 0, comm);
  for (int length : own_lengths) own.starts.push_back(own.starts.back() + length);
  const int elements = static_cast<int>(own.starts.back());
  own.column_of.resize(static_cast<std::size_t>(elements));
  own.value_of.resize(static_cast<std::size_t>(elements));
  MPI_Scatterv(whole.column_of.data(), counts.data(), places.data(), MPI_INT, own.column_of.data(), elements,
               MPI_INT, 0, comm);
  MPI_Scatterv(whole.value_of.data(), counts.data(), places.data(), MPI_DOUBLE, own.value_of.data(), elements,
               MPI_DOUBLE, 0, comm);
  return own;
}

void broadcast(SparseMatrix& matrix, MPI_Comm comm) {
  int sizes[] = {matrix.rows, matrix.columns, static_cast<int>(matrix.elements())};
  MPI_Bcast(sizes, 3, MPI_INT, 0, comm);
  matrix.rows = sizes[0];
  matrix.columns = sizes[1];
  matrix.starts.resize(static_cast<std::size_t>(sizes[0]) + 1);
  matrix.column_of.resize(static_cast<std::size_t>(sizes[2]));
  matrix.value_of.resize(static_cast<std::size_t>(sizes[2]));
  MPI_Bcast(matrix.starts.data(), sizes[0] + 1, MPI_INT64_T, 0, comm);
  MPI_Bcast(matrix.column_of.data(), sizes[2], MPI_INT, 0, comm);
  MPI_Bcast(matrix.value_of.data(), sizes[2], MPI_DOUBLE, 0, comm);
}

void RightSide::fill(int column, int width, double* elements) const {
  if (!by_columns_) {
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < width; ++j) *elements++ = small_number(seed_, first_ + i, column + j);
    }
    return;
  }
  std::fill_n(elements, static_cast<std::size_t>(rows_) * width, 0.0);
  for (int j = 0; j < width; ++j) {
    for (std::int64_t k = by_columns_->starts[column + j]; k < by_columns_->starts[column + j + 1]; ++k) {
      elements[static_cast<std::size_t>(by_columns_->column_of[k]) * width + j] = by_columns_->value_of[k];
    }
  }
}

}  // namespace spmm
