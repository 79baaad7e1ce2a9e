// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/timing.h"

#include <smpi/mpi.h>
#include <smpi/smpi_helpers.h>

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

double latest(double time_s) {
  double all = 0;
  MPI_Allreduce(&time_s, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

std::uint64_t sum_of_all(std::uint64_t number) {
  std::uint64_t all = 0;
  MPI_Allreduce(&number, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

double now_s() {
  return MPI_Wtime();
}

}  // namespace unisono::simgrid
