// SPDX-License-Identifier: BSD-3-Clause
#include "product.h"

#include <limits>

namespace matmul {
namespace {

// Small whole numbers, so that every order of additions gives the same bits.
double element_of_a(int i, int j) {
  return (i * 31L + j * 17L) % 13 - 6;
}
double element_of_b(int i, int j) {
  return (i * 7L + j * 29L) % 11 - 5;
}

template <typename Element>
void fill(View part, int first_row, int first_column, int size, Element element) {
  for (int i = 0; i < part.rows; ++i) {
    for (int j = 0; j < part.columns; ++j) {
      const bool is_inside = first_row + i < size && first_column + j < size;
      part.row(i)[j] = is_inside ? element(first_row + i, first_column + j) : 0.0;
    }
  }
}

// By no algorithm of this program, and without its neighbours.
void fill_with_plain_product(View part, int first_row, int first_column, int size) {
  std::vector<double> b_row(static_cast<std::size_t>(part.columns));
  for (int k = 0; k < size; ++k) {
    for (int j = 0; j < part.columns; ++j) b_row[j] = element_of_b(k, first_column + j);
    for (int i = 0; i < part.rows && first_row + i < size; ++i) {
      const double factor = element_of_a(first_row + i, k);
      double* row = part.row(i);
      for (int j = 0; j < part.columns && first_column + j < size; ++j) row[j] += factor * b_row[j];
    }
  }
}

// An addition with a multiplication, where everything is in the cache: the fastest of some rounds.
double measured_step(int side) {
  Matrix a(side, side), b(side, side), c(side, side);
  fill(a.view(), 0, 0, side, element_of_a);
  fill(b.view(), 0, 0, side, element_of_b);
  const long steps = static_cast<long>(side) * side * side;
  const long products = std::max(1L, 1'000'000 / steps);
  double fastest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 10; ++round) {
    const double begin = MPI_Wtime();
    for (long i = 0; i < products; ++i) {
      cache_algorithms().front().multiply(c.view(), a.view(), b.view(), side);
    }
    fastest = std::min(fastest, (MPI_Wtime() - begin) / static_cast<double>(products * steps));
  }
  return fastest;
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15;
  return value ^ (value >> 29);
}

}  // namespace

Problem::Problem(const Options& options, MPI_Comm comm)
    : options_(options),
      comm_(comm),
      grid_(comm, options.grid_rows, options.grid_columns),
      side_(grid_.side(options.size)),
      cache_side_(block_side(options.block_bytes)),
      seconds_per_step_(measured_step(cache_side_)),
      a_(grid_.own_rows() * side_, grid_.own_columns() * side_),
      b_(grid_.own_rows() * side_, grid_.own_columns() * side_),
      c_(grid_.own_rows() * side_, grid_.own_columns() * side_),
      plain_(grid_.own_rows() * side_, grid_.own_columns() * side_) {
  fill(a_.view(), first_row(), first_column(), options.size, element_of_a);
  fill(b_.view(), first_row(), first_column(), options.size, element_of_b);
  fill_with_plain_product(plain_.view(), first_row(), first_column(), options.size);
}

Outcome Problem::multiply(const Choice& choice) {
  const Work work{choice.cache->multiply, cache_side_, options_.threads};
  const LocalProduct product = [&](View c, View a, View b) { choice.sharing->multiply(c, a, b, work); };
  int ranks = 1;
  MPI_Comm_size(comm_, &ranks);
  const double steps = static_cast<double>(c_.elements().size()) * side_ * grid_.blocks();
  Outcome outcome;
  outcome.choice = choice;
  outcome.total_s = std::numeric_limits<double>::infinity();
  for (int round = 0; round < options_.repeat; ++round) {
    std::ranges::fill(c_.elements(), 0.0);
    MPI_Barrier(comm_);
    const Times own = choice.distribution->multiply(grid_, c_.view(), a_.view(), b_.view(), side_, product);
    double sums[3] = {own.total_s, own.messages_s, steps * seconds_per_step_ / options_.threads};
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm_);
    if (sums[0] / ranks < outcome.total_s) {
      outcome.total_s = sums[0] / ranks;
      outcome.communication_s = sums[1] / ranks;
      outcome.computation_s = sums[2] / ranks;
    }
    judge(outcome);
  }
  outcome.penalty_s = outcome.total_s - outcome.communication_s - outcome.computation_s;
  return outcome;
}

void Problem::judge(Outcome& outcome) {
  std::int64_t wrong = 0;
  std::uint64_t digest = 0;
  for (int i = 0; i < c_.view().rows && first_row() + i < options_.size; ++i) {
    for (int j = 0; j < c_.view().columns && first_column() + j < options_.size; ++j) {
      const double value = c_.view().row(i)[j];
      wrong += value != plain_.view().row(i)[j];
      const std::uint64_t place =
          static_cast<std::uint64_t>(first_row() + i) * options_.size + first_column() + j;
      digest += mixed(place * 1'000'003 + static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_SUM, comm_);
  outcome.wrong += wrong;
  outcome.digest = digest;
}

}  // namespace matmul
