// SPDX-License-Identifier: BSD-3-Clause
#include "grid.h"

#include <numeric>
#include <stdexcept>

namespace matmul {
namespace {

// Adds the time that `work` takes to `sum`.
template <typename Work>
void timed(double& sum, Work work) {
  const double begin = MPI_Wtime();
  work();
  sum += MPI_Wtime() - begin;
}

// Strips of A go along the rows of the grid, strips of B along its columns, one block wide; their owners take
// turns.
Times broadcast(const Grid& grid, View c, View a, View b, int side, const LocalProduct& product) {
  Times times;
  const double begin = MPI_Wtime();
  Matrix strip_a(a.rows, side), strip_b(side, b.columns);
  for (int k = 0; k < grid.blocks(); ++k) {
    const int owner_of_a = k / grid.own_columns(), owner_of_b = k / grid.own_rows();
    if (grid.column() == owner_of_a) {
      copy(a.part(0, k % grid.own_columns() * side, a.rows, side), strip_a.view());
    }
    if (grid.row() == owner_of_b) {
      copy(b.part(k % grid.own_rows() * side, 0, side, b.columns), strip_b.view());
    }
    timed(times.messages_s, [&] {
      MPI_Bcast(strip_a.elements().data(), a.rows * side, MPI_DOUBLE, owner_of_a, grid.along_row());
      MPI_Bcast(strip_b.elements().data(), b.columns * side, MPI_DOUBLE, owner_of_b, grid.along_column());
    });
    timed(times.products_s, [&] { product(c, strip_a.view(), strip_b.view()); });
  }
  times.total_s = MPI_Wtime() - begin;
  return times;
}

// Blocks of a matrix that go round along the rows of the grid (A) or along its columns (B). Lines are those
// of blocks that go round together: rows of A, columns of B; `places` is how many blocks of a line a process
// has.
class Round {
 public:
  Round(MPI_Comm comm, int lines, int first_line, int places, int side)
      : comm_(comm), lines_(lines), first_line_(first_line), places_(places), side_(side) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    const std::size_t count = static_cast<std::size_t>(lines) * places * side * side;
    blocks_.resize(count);
    received_.resize(count);
  }

  View block(int line, int place) { return {at(blocks_, line, place), side_, side_, side_}; }

  // Line number n moves by n places towards the first process, in one exchange of all.
  void skew() {
    std::vector<int> counts(static_cast<std::size_t>(size_)), from(counts), to(counts), places(counts);
    std::vector<double> sent;
    const int block_length = side_ * side_;
    const int all = places_ * size_;
    for (int other = 0; other < size_; ++other) {
      to[other] = static_cast<int>(sent.size());
      for (int line = 0; line < lines_; ++line) {
        for (int place = 0; place < places_; ++place) {
          if (target(line, rank_ * places_ + place, all) / places_ != other) continue;
          sent.insert(sent.end(), at(blocks_, line, place), at(blocks_, line, place) + block_length);
        }
      }
      counts[other] = static_cast<int>(sent.size()) - to[other];
    }
    // What comes from another process comes in the order in which it has these blocks.
    std::vector<double*> order;
    for (int other = 0; other < size_; ++other) {
      from[other] = static_cast<int>(order.size()) * block_length;
      for (int line = 0; line < lines_; ++line) {
        for (int place = 0; place < places_; ++place) {
          const int there = target(line, other * places_ + place, all);
          if (there / places_ == rank_) order.push_back(at(blocks_, line, there % places_));
        }
      }
      places[other] = static_cast<int>(order.size()) * block_length - from[other];
    }
    MPI_Alltoallv(sent.data(), counts.data(), to.data(), MPI_DOUBLE, received_.data(), places.data(),
                  from.data(), MPI_DOUBLE, comm_);
    for (std::size_t number = 0; number < order.size(); ++number) {
      std::copy_n(received_.data() + number * block_length, block_length, order[number]);
    }
  }

  // Every block moves by one place towards the first process, from which it goes to the last one.
  void shift() {
    const long line_length = static_cast<long>(places_) * side_ * side_;
    const int edge_length = side_ * side_;
    std::vector<double> edge(static_cast<std::size_t>(lines_) * edge_length);
    for (int line = 0; line < lines_; ++line) {
      std::copy_n(at(blocks_, line, 0), edge_length, edge.data() + static_cast<long>(line) * edge_length);
      std::copy(at(blocks_, line, 1), at(blocks_, line, 0) + line_length, at(blocks_, line, 0));
    }
    MPI_Sendrecv_replace(edge.data(), static_cast<int>(edge.size()), MPI_DOUBLE, (rank_ + size_ - 1) % size_,
                         0, (rank_ + 1) % size_, 0, comm_, MPI_STATUS_IGNORE);
    for (int line = 0; line < lines_; ++line) {
      std::copy_n(edge.data() + static_cast<long>(line) * edge_length, edge_length,
                  at(blocks_, line, places_ - 1));
    }
  }

 private:
  double* at(std::vector<double>& blocks, int line, int place) {
    return blocks.data() + (static_cast<long>(line) * places_ + place) * side_ * side_;
  }
  int target(int line, int place, int all) const { return (place - (first_line_ + line) % all + all) % all; }

  MPI_Comm comm_;
  int lines_;
  int first_line_;
  int places_;
  int side_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<double> blocks_;
  std::vector<double> received_;
};

// Cannon's algorithm on a square of as many blocks as the least common multiple of the grid's sides
// (generalized by Lee and Fortes). After the skew the blocks that stand at one place fit together, and again
// after each shift.
Times cannon(const Grid& grid, View c, View a, View b, int side, const LocalProduct& product) {
  Times times;
  const double begin = MPI_Wtime();
  const int own_rows = grid.own_rows(), own_columns = grid.own_columns();
  Round of_a(grid.along_row(), own_rows, grid.row() * own_rows, own_columns, side);
  Round of_b(grid.along_column(), own_columns, grid.column() * own_columns, own_rows, side);
  for (int i = 0; i < own_rows; ++i) {
    for (int j = 0; j < own_columns; ++j) {
      copy(a.part(i * side, j * side, side, side), of_a.block(i, j));
      copy(b.part(i * side, j * side, side, side), of_b.block(j, i));
    }
  }
  timed(times.messages_s, [&] {
    of_a.skew();
    of_b.skew();
  });
  for (int step = 0; step < grid.blocks(); ++step) {
    timed(times.products_s, [&] {
      for (int i = 0; i < own_rows; ++i) {
        for (int j = 0; j < own_columns; ++j) {
          product(c.part(i * side, j * side, side, side), of_a.block(i, j), of_b.block(j, i));
        }
      }
    });
    if (step + 1 == grid.blocks()) break;
    timed(times.messages_s, [&] {
      of_a.shift();
      of_b.shift();
    });
  }
  times.total_s = MPI_Wtime() - begin;
  return times;
}

}  // namespace

Grid::Grid(MPI_Comm comm, int rows, int columns) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rows == 0) {
    int sides[2] = {0, 0};
    MPI_Dims_create(size, 2, sides);
    rows = sides[0];
    columns = sides[1];
  }
  if (static_cast<long>(rows) * columns != size) {
    throw std::invalid_argument("--grid: rows times columns must be the number of ranks, " +
                                std::to_string(size));
  }
  rows_ = rows;
  columns_ = columns;
  row_ = rank / columns;
  column_ = rank % columns;
  blocks_ = std::lcm(rows, columns);
  MPI_Comm_split(comm, row_, column_, &along_row_);
  MPI_Comm_split(comm, column_, row_, &along_column_);
}

Grid::~Grid() {
  MPI_Comm_free(&along_row_);
  MPI_Comm_free(&along_column_);
}

const std::vector<NamedDistribution>& distributions() {
  static const std::vector<NamedDistribution> all = {
      {"cannon", cannon, "blocks of A and B go round (MPI_Alltoallv, MPI_Sendrecv_replace)"},
      {"broadcast", broadcast, "strips of A and B are broadcast along rows and columns (MPI_Bcast)"},
  };
  return all;
}

}  // namespace matmul
