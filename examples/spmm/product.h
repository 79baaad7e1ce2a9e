// SPDX-License-Identifier: BSD-3-Clause
// The product, column by column: gather what is needed of B, multiply, compare.
#pragma once

#include <string>
#include <vector>

#include "gather.h"
#include "options.h"
#include "stripes.h"

namespace spmm {

// Of the slowest rank, in means over the calls.
struct Outcome {
  const NamedGather* gather;
  double mean_sources;  // ranks that rows of B come from
  int most_sources;
  long long calls;
  double setup_s;
  double gather_s;
  double product_s;
  long long wrong;
  unsigned long long digest;  // of all elements, the same for every number of ranks
};

class Problem {
 public:
  // Rank 0 has the matrix A. With --square all ranks get it, to compare with.
  Problem(SparseMatrix& matrix, const Options& options, MPI_Comm comm);

  int columns() const { return columns_; }
  Outcome multiply(const NamedGather& gather, int repeat);

  // Rank 0 writes the last product.
  void write(const std::string& path) const;

 private:
  void multiply_stripe(const Gather& gather, int column, int width);
  // The same product with all of B at hand, in the same order of additions: each rank's own stripe.
  void multiply_alone();
  unsigned long long digest() const;

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  int rows_;     // of A
  int inner_;    // columns of A, rows of B
  int columns_;  // of B
  int at_once_;
  Stripes stripes_of_a_;
  Stripes stripes_of_b_;
  SparseMatrix stripe_;
  RightSide own_right_;
  RightSide whole_right_;
  Needs needs_;
  std::vector<double> expected_;
  std::vector<double> product_;
};

}  // namespace spmm
