// SPDX-License-Identifier: BSD-3-Clause
// Runs over SMPI: smpirun -np RANKS ... unisono-smpi.so ORDERS
//
// ORDERS is a file of lines. Each is answered by a line of JSON on standard output:
//
//     call OPERATION BYTES ALGORITHM   one collective: `native`, or an algorithm of the registry
//     messages FROM TO BYTES           what messages cost between two ranks
//     shift DISTANCE BYTES             every rank sends to the one that far on, all at once
#include <smpi/mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "simgrid/messages.h"
#include "simgrid/native_calls.h"
#include "simgrid/schedules.h"
#include "simgrid/timing.h"

namespace unisono::simgrid {
namespace {

using nlohmann::ordered_json;

class Rank {
 public:
  Rank(int rank, int size) : rank_(rank), size_(size), schedules_(rank, size) {}

  void answer(const std::string& order) {
    std::istringstream words(order);
    std::string what;
    words >> what;
    ordered_json answer;
    if (what == "call") {
      answer = run_call(words);
    } else if (what == "messages") {
      answer = run_messages(words);
    } else if (what == "shift") {
      answer = run_shift(words);
    } else {
      throw std::runtime_error("there is no order '" + what + "'");
    }
    if (rank_ != 0) return;
    std::puts(answer.dump().c_str());
    std::fflush(stdout);
  }

 private:
  ordered_json run_call(std::istringstream& words) {
    std::string operation_name, algorithm;
    std::int64_t bytes = 0;
    words >> operation_name >> bytes >> algorithm;
    const auto operation = operation_from_name(operation_name);
    if (!operation || algorithm.empty() || bytes % static_cast<std::int64_t>(sizeof(std::int64_t)) != 0)
      throw std::runtime_error("call OPERATION BYTES ALGORITHM, in bytes of whole 64-bit numbers");
    const Call call{.operation = *operation,
                    .elements = bytes / static_cast<std::int64_t>(sizeof(std::int64_t)),
                    .rank = rank_,
                    .size = size_};
    Buffers buffers(call);
    const bool is_native = algorithm == "native";
    const auto run = [&] { is_native ? call_native(call, &buffers) : schedules_.run(&buffers); };
    if (!is_native) schedules_.prepare(call, algorithm);
    buffers.fill();
    // Some of the MPI's algorithms make communicators at their first call, and all share those.
    if (is_native && std::ranges::none_of(was_called_, std::identity())) {
      double own = 0, all = 0;
      MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (is_native && !was_called_[static_cast<std::size_t>(*operation)]) run();
    was_called_[static_cast<std::size_t>(*operation)] |= is_native;
    buffers.fill();
    const double begin_s = begin_together();
    run();
    const double us = 1e6 * (latest(now_s()) - begin_s);
    const std::uint64_t sum = sum_of_all(buffers.sum());
    ordered_json answer{
        {"operation", operation_name}, {"bytes", bytes}, {"algorithm", algorithm}, {"us", us}};
    answer["result"] = buffers.are_shared() ? ordered_json(nullptr) : ordered_json(std::to_string(sum));
    return answer;
  }

  ordered_json run_messages(std::istringstream& words) const {
    int from = 0, to = 0;
    std::int64_t bytes = -1;
    words >> from >> to >> bytes;
    if (bytes < 0 || from < 0 || to < 0 || from >= size_ || to >= size_ || from == to)
      throw std::runtime_error("messages FROM TO BYTES, of two ranks");
    const MessageTimes times = time_messages(from, to, bytes);
    return {{"from", from},        {"to", to},
            {"bytes", bytes},      {"half", times.half_us},
            {"os", times.send_us}, {"or", times.receive_us},
            {"gap", times.gap_us}};
  }

  ordered_json run_shift(std::istringstream& words) const {
    int distance = 0;
    std::int64_t bytes = -1;
    words >> distance >> bytes;
    if (bytes < 0 || distance <= 0 || distance >= size_)
      throw std::runtime_error("shift DISTANCE BYTES, less far than there are ranks");
    return {{"distance", distance}, {"bytes", bytes}, {"us", time_shift(distance, bytes)}};
  }

  int rank_, size_;
  Schedules schedules_;
  std::array<bool, operation_count> was_called_{};
};

int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    if (argc != 2) throw std::runtime_error("which orders? unisono-smpi.so ORDERS");
    std::ifstream orders(argv[1]);
    if (!orders) throw std::runtime_error(std::string("cannot read ") + argv[1]);
    Rank own(rank, size);
    for (std::string line; std::getline(orders, line);)
      if (!line.empty()) own.answer(line);
  } catch (const std::exception& error) {
    // All ranks find the same.
    if (rank == 0) std::fprintf(stderr, "unisono-smpi: %s\n", error.what());
    std::fflush(stderr);
    MPI_Finalize();
    return 1;
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace unisono::simgrid

extern "C" [[gnu::visibility("default")]] int main(int argc, char** argv) {
  return unisono::simgrid::run(argc, argv);
}
