// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/timing.h"

#include <smpi/mpi.h>
#include <smpi/smpi_helpers.h>

#include <algorithm>
#include <cmath>

namespace unisono::simgrid {

double begin_together() {
  constexpr double until_quiet_s = 1;
  const double begin_s = std::ceil(latest(now_s()) + until_quiet_s);
  const double left_s = begin_s - now_s();
  const double whole_s = std::floor(left_s);
  const timespec left{static_cast<time_t>(whole_s), static_cast<long>(1e9 * (left_s - whole_s))};
  smpi_nanosleep(&left, nullptr);
  return now_s();
}

// By messages: a collective of the MPI's may make communicators, or take a step for each rank.
double latest(double time_s) {
  constexpr int tag = 2;
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int distance = 1; distance < size; distance *= 2) {
    double other_s = 0;
    MPI_Sendrecv(&time_s, 1, MPI_DOUBLE, (rank + distance) % size, tag, &other_s, 1, MPI_DOUBLE,
                 (rank + size - distance) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    time_s = std::max(time_s, other_s);
  }
  return time_s;
}

// What is static is everybody's, and ranks take turns only inside of MPI.
std::uint64_t sum_of_all(std::uint64_t number) {
  static std::uint64_t sum = 0;
  latest(0);
  sum = 0;
  latest(0);
  sum += number;
  latest(0);
  return sum;
}

double now_s() {
  return MPI_Wtime();
}

}  // namespace unisono::simgrid
