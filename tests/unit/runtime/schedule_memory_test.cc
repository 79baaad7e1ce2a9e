// SPDX-License-Identifier: BSD-3-Clause
// Option 'cache_bytes': how much memory a communicator's schedules take, in whole jobs. All memory of the
// program is counted.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "program.h"

namespace {

std::atomic<std::ptrdiff_t> bytes_in_use{0};

void* take(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_in_use += static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  return memory;
}
void give_back(void* memory) {
  if (memory != nullptr) bytes_in_use -= static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return take(bytes);
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}

namespace unisono::runtime::schedule_memory_test {
namespace {

constexpr int size = 8;

class ScheduleMemoryTest : public ProgramTest {
 protected:
  // What it takes to have made broadcasts and sums from all roots, by algorithms that run schedules.
  std::ptrdiff_t memory_of_calls() {
    options_.use_shared_memory = false;
    options_.algorithm = "bcast:binomial,reduce:binomial,gather:binomial";
    std::ptrdiff_t taken = 0;
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      const auto call = [&](Operation operation, int root) {
        std::vector<std::int64_t> in(3, rank), out(3 * size, -1);
        Call made = sum_call(host.world(), in.data(), out.data(), 3);
        made.operation = operation;
        made.root = root;
        if (operation == Operation::bcast) made.recv_buffer = in.data();
        int error = host::success;
        EXPECT_EQ(job.collective(made, &error), Outcome::done);
        EXPECT_EQ(error, host::success);
        if (operation == Operation::bcast) {
          EXPECT_EQ(in, std::vector<std::int64_t>(3, root));
        }
        if (operation == Operation::reduce && rank == root) {
          EXPECT_EQ(out[0], size * (size - 1) / 2);
        }
      };
      const auto calls_from = [&](int root) {
        for (const Operation operation : {Operation::bcast, Operation::reduce, Operation::gather})
          call(operation, root);
      };
      // What calls need beside their schedules is there after the first ones.
      for (int turn = 0; turn < 2; ++turn) calls_from(0);
      host.barrier(host.world());
      const std::ptrdiff_t before = bytes_in_use;
      host.barrier(host.world());
      for (int root = 1; root < size; ++root) calls_from(root);
      host.barrier(host.world());
      if (rank == 0) taken = bytes_in_use - before;
      host.barrier(host.world());
    });
    return taken;
  }
};

TEST_F(ScheduleMemoryTest, IsBoundedByTheOption) {
  const std::ptrdiff_t usual = memory_of_calls();
  options_.cache_bytes = 1;  // less than any schedule takes: each is made anew
  const std::ptrdiff_t least = memory_of_calls();
  // Those of three operations from all roots but the first, on each rank.
  constexpr std::ptrdiff_t schedules = 3 * (size - 1) * size, bytes_of_one = 100;
  EXPECT_GT(usual - least, schedules * bytes_of_one);
}

}  // namespace
}  // namespace unisono::runtime::schedule_memory_test
