// SPDX-License-Identifier: BSD-3-Clause
#include "collectives.h"

namespace nbody {
namespace {

template <typename Call>
void timed(OperationTime& record, std::size_t bytes, Call call) {
  const double start_s = MPI_Wtime();
  call();
  record.time_s += MPI_Wtime() - start_s;
  record.bytes_per_call = static_cast<std::int64_t>(bytes);
  ++record.calls;
}

int count_of(std::span<const double> values) {
  return static_cast<int>(values.size());
}

}  // namespace

Collectives::Collectives(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

void Collectives::broadcast_bodies(std::span<double> values) {
  timed(bcast_, values.size_bytes(),
        [&] { MPI_Bcast(values.data(), count_of(values), MPI_DOUBLE, 0, comm_); });
}

void Collectives::gather_positions(std::span<const double> own, std::span<double> all) {
  timed(allgather_, own.size_bytes(), [&] {
    MPI_Allgather(own.data(), count_of(own), MPI_DOUBLE, all.data(), count_of(own), MPI_DOUBLE, comm_);
  });
}

double Collectives::agree_on_smallest(double value) {
  double smallest = 0.0;
  timed(allreduce_min_, sizeof value,
        [&] { MPI_Allreduce(&value, &smallest, 1, MPI_DOUBLE, MPI_MIN, comm_); });
  return smallest;
}

void Collectives::sum_over_ranks(std::span<double> values) {
  timed(allreduce_sum_, values.size_bytes(),
        [&] { MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values), MPI_DOUBLE, MPI_SUM, comm_); });
}

void Collectives::barrier() {
  MPI_Barrier(comm_);
}

CollectiveTimes Collectives::longest_times() const {
  CollectiveTimes times{0.0, {bcast_, allgather_, allreduce_min_, allreduce_sum_}};
  for (const OperationTime& operation : times.operations) times.total_s += operation.time_s;
  const auto keep_longest = [&](double& time_s) {
    MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, comm_);
  };
  keep_longest(times.total_s);
  for (OperationTime& operation : times.operations) keep_longest(operation.time_s);
  std::erase_if(times.operations, [](const OperationTime& operation) { return operation.calls == 0; });
  return times;
}

}  // namespace nbody
