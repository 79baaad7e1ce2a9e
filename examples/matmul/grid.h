// SPDX-License-Identifier: BSD-3-Clause
// The highest layer: processes in a grid, and two ways to multiply across them.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <functional>
#include <string_view>
#include <vector>

#include "matrix.h"

namespace matmul {

// C += A B of what one process has at a time.
using LocalProduct = std::function<void(View c, View a, View b)>;

// Processes in rows and columns. A matrix is cut into a square of blocks, as many in each direction as the
// least common multiple of the grid's sides: so each process has equally many. Zeros fill up the last ones.
class Grid {
 public:
  // `rows` times `columns` processes of `comm`; 0: as square as they get.
  Grid(MPI_Comm comm, int rows, int columns);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }
  int blocks() const { return blocks_; }            // of a matrix in one direction
  int own_rows() const { return blocks_ / rows_; }  // of these the process has so many
  int own_columns() const { return blocks_ / columns_; }
  int side(int size) const { return (size + blocks_ - 1) / blocks_; }
  MPI_Comm along_row() const { return along_row_; }  // the processes of the own row, by column
  MPI_Comm along_column() const { return along_column_; }

 private:
  int rows_ = 0;
  int columns_ = 0;
  int row_ = 0;
  int column_ = 0;
  int blocks_ = 0;
  MPI_Comm along_row_ = MPI_COMM_NULL;
  MPI_Comm along_column_ = MPI_COMM_NULL;
};

// Seconds that a process has spent in calls of MPI and in products; waiting for others is a part of the
// former.
struct Times {
  double messages_s = 0;
  double products_s = 0;
  double total_s = 0;
};

// Each process has its part of A and B, and gets its part of C, all by rows.
using Distribution = Times (*)(const Grid& grid, View c, View a, View b, int side,
                               const LocalProduct& product);

struct NamedDistribution {
  std::string_view name;
  Distribution multiply;
  std::string_view about;
};

const std::vector<NamedDistribution>& distributions();

}  // namespace matmul
