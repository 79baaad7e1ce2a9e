// SPDX-License-Identifier: BSD-3-Clause
#include "product.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>

namespace spmm {
namespace {

// Rows and columns of A, which rank 0 has.
std::pair<int, int> agreed_sizes(const SparseMatrix& matrix, MPI_Comm comm) {
  int sizes[] = {matrix.rows, matrix.columns};
  MPI_Bcast(sizes, 2, MPI_INT, 0, comm);
  return {sizes[0], sizes[1]};
}

RightSide whole_of_b(SparseMatrix& matrix, int rows, const Options& options, MPI_Comm comm) {
  if (!options.is_squared) return {0, rows, options.seed};
  broadcast(matrix, comm);
  return {0, matrix};
}

RightSide stripe_of_b(const SparseMatrix& stripe, const Stripes& stripes, const Options& options, int rank) {
  if (options.is_squared) return {stripes.first(rank), stripe};
  return {stripes.first(rank), stripes.count(rank), options.seed};
}

double longest(double seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

}  // namespace

Problem::Problem(SparseMatrix& matrix, const Options& options, MPI_Comm comm)
    : comm_(comm),
      rank_(rank_in(comm)),
      ranks_(ranks_of(comm)),
      rows_(agreed_sizes(matrix, comm).first),
      inner_(agreed_sizes(matrix, comm).second),
      columns_(options.is_squared ? inner_ : options.columns),
      at_once_(std::min(options.at_once, columns_)),
      stripes_of_a_(rows_, ranks_),
      stripes_of_b_(inner_, ranks_),
      stripe_(scattered(matrix, stripes_of_a_, comm)),
      own_right_(stripe_of_b(stripe_, stripes_of_b_, options, rank_)),
      whole_right_(whole_of_b(matrix, inner_, options, comm)),
      needs_(find_needs(stripe_, stripes_of_b_, comm)),
      expected_(static_cast<std::size_t>(stripe_.rows) * columns_),
      product_(expected_.size()) {
  multiply_alone();
}

void Problem::multiply_alone() {
  std::vector<double> column(static_cast<std::size_t>(inner_));
  for (int j = 0; j < columns_; ++j) {
    whole_right_.fill(j, 1, column.data());
    for (int i = 0; i < stripe_.rows; ++i) {
      double sum = 0.0;
      for (std::int64_t k = stripe_.starts[i]; k < stripe_.starts[i + 1]; ++k) {
        sum += stripe_.value_of[k] * column[stripe_.column_of[k]];
      }
      expected_[static_cast<std::size_t>(i) * columns_ + j] = sum;
    }
  }
}

void Problem::multiply_stripe(const Gather& gather, int column, int width) {
  for (int i = 0; i < stripe_.rows; ++i) {
    double* to = product_.data() + static_cast<std::size_t>(i) * columns_ + column;
    std::fill_n(to, width, 0.0);
    for (std::int64_t k = stripe_.starts[i]; k < stripe_.starts[i + 1]; ++k) {
      const double value = stripe_.value_of[k];
      const double* from =
          gather.gathered() + static_cast<std::size_t>(gather.place(stripe_.column_of[k])) * width;
      for (int j = 0; j < width; ++j) to[j] += value * from[j];
    }
  }
}

Outcome Problem::multiply(const NamedGather& named, int repeat) {
  const int sources =
      static_cast<int>(named.name.starts_with("neighbor") ? needs_.sources.size() : ranks_ - 1);
  Outcome outcome{&named, static_cast<double>(sources), sources, 0, 0.0, 0.0, 0.0, 0, 0};
  MPI_Barrier(comm_);
  const double begin = MPI_Wtime();
  const std::unique_ptr<Gather> gather = named.make({comm_, &stripes_of_b_, inner_, at_once_, &needs_});
  outcome.setup_s = longest(MPI_Wtime() - begin, comm_);
  double least_s = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < repeat; ++turn) {
    double gather_s = 0.0, product_s = 0.0;
    outcome.calls = 0;
    for (int column = 0; column < columns_; column += at_once_, ++outcome.calls) {
      const int width = std::min(at_once_, columns_ - column);
      own_right_.fill(column, width, gather->stripe());
      const double before = MPI_Wtime();
      gather->run(width);
      const double between = MPI_Wtime();
      multiply_stripe(*gather, column, width);
      gather_s += between - before;
      product_s += MPI_Wtime() - between;
    }
    const double calls = static_cast<double>(outcome.calls);
    gather_s = longest(gather_s / calls, comm_);
    product_s = longest(product_s / calls, comm_);
    if (gather_s + product_s >= least_s) continue;
    least_s = gather_s + product_s;
    outcome.gather_s = gather_s;
    outcome.product_s = product_s;
  }
  for (std::size_t i = 0; i < product_.size(); ++i) outcome.wrong += !(product_[i] == expected_[i]);
  MPI_Allreduce(MPI_IN_PLACE, &outcome.wrong, 1, MPI_LONG_LONG, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &outcome.most_sources, 1, MPI_INT, MPI_MAX, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &outcome.mean_sources, 1, MPI_DOUBLE, MPI_SUM, comm_);
  outcome.mean_sources /= ranks_;
  outcome.digest = digest();
  return outcome;
}

unsigned long long Problem::digest() const {
  unsigned long long sum = 0;
  const std::size_t before = static_cast<std::size_t>(stripes_of_a_.first(rank_)) * columns_;
  for (std::size_t i = 0; i < product_.size(); ++i) {
    // Adding 0 makes -0 and 0 the same.
    const auto bits = std::bit_cast<std::uint64_t>(product_[i] + 0.0);
    sum += (bits ^ (bits >> 47)) * (2 * (before + i) + 0x9e3779b97f4a7c15u);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm_);
  return sum;
}

void Problem::write(const std::string& path) const {
  std::vector<int> counts, places;
  for (int other = 0; other < ranks_; ++other) {
    counts.push_back(stripes_of_a_.count(other));
    places.push_back(stripes_of_a_.first(other));
  }
  std::vector<double> whole(rank_ == 0 ? static_cast<std::size_t>(rows_) * columns_ : 0);
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(columns_, MPI_DOUBLE, &row);
  MPI_Type_commit(&row);
  MPI_Gatherv(product_.data(), stripe_.rows, row, whole.data(), counts.data(), places.data(), row, 0, comm_);
  MPI_Type_free(&row);
  if (rank_ == 0) write_matrix_market(path, rows_, columns_, whole);
}

}  // namespace spmm
