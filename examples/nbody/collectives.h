// SPDX-License-Identifier: BSD-3-Clause
// The collectives that the simulation uses, each timed by the program itself. The clock is read right before
// and after the MPI call, so the figure holds whatever MPI runs below. It holds the wait for ranks that
// arrive later too.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nbody {

struct OperationTime {
  std::string operation;
  std::string purpose;
  std::int64_t calls = 0;
  std::int64_t bytes_per_call = 0;  // contributed by one rank (bcast: sent by the root)
  double time_s = 0.0;
};

struct CollectiveTimes {
  double total_s = 0.0;                   // in all collectives, of the rank where that was longest
  std::vector<OperationTime> operations;  // each with the time of the rank where it was longest
};

class Collectives {
 public:
  explicit Collectives(MPI_Comm comm);

  int rank() const { return rank_; }
  int size() const { return size_; }

  void broadcast_bodies(std::span<double> values);
  // `own` must be equally long on all ranks; `all` takes size() times as much, in rank order.
  void gather_positions(std::span<const double> own, std::span<double> all);
  double agree_on_smallest(double value);
  void sum_over_ranks(std::span<double> values);  // in place
  // These two are not timed: they are about the timing.
  void barrier();
  CollectiveTimes longest_times() const;

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  OperationTime bcast_{"bcast", "initial bodies"};
  OperationTime allgather_{"allgather", "positions"};
  OperationTime allreduce_min_{"allreduce", "time step (min)"};
  OperationTime allreduce_sum_{"allreduce", "energy, momentum (sum)"};
};

}  // namespace nbody
