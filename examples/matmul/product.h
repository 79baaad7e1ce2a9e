// SPDX-License-Identifier: BSD-3-Clause
// A product of all layers together: made, checked and timed.
#pragma once

#include <cstdint>

#include "options.h"

namespace matmul {

// T_total = T_comp + T_comm + T_penalty, means over the ranks.
struct Outcome {
  Choice choice;
  double total_s = 0;
  double computation_s = 0;    // Arithmetic where all is in the cache.
  double communication_s = 0;  // Calls of MPI.
  double penalty_s = 0;        // The rest: cache misses, copies, and waiting for a core.
  std::uint64_t digest = 0;    // Of all elements of C.
  std::int64_t wrong = 0;      // Elements that differ from the plain product's.
};

class Problem {
 public:
  Problem(const Options& options, MPI_Comm comm);

  const Grid& grid() const { return grid_; }
  // Multiplies, compares, and keeps the fastest of options.repeat times.
  Outcome multiply(const Choice& choice);

 private:
  int first_row() const { return grid_.row() * grid_.own_rows() * side_; }
  int first_column() const { return grid_.column() * grid_.own_columns() * side_; }
  void judge(Outcome& outcome);

  const Options& options_;
  MPI_Comm comm_;
  Grid grid_;
  int side_;        // of the blocks that go from process to process
  int cache_side_;  // of those that fit into the cache
  double seconds_per_step_;
  Matrix a_, b_, c_, plain_;
};

}  // namespace matmul
