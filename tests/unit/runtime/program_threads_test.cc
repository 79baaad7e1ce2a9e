// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block and the threads of the program. Which threads run its operators, and what do they
// wait for meanwhile? How does whoever lets a call go on compute?
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "program.h"

namespace unisono::runtime::program_threads_test {
namespace {

using std::chrono::milliseconds;

constexpr int ranks = 2;
constexpr std::size_t elements = 500;

template <class Value>
struct Sum : End {
  std::vector<Value> in = std::vector<Value>(elements, 1), out = std::vector<Value>(elements);

  Call call(host::Comm comm) { return sum_call(comm, in.data(), out.data(), elements); }
  Call call(host::Comm comm, host::Op op) {
    Call call = this->call(comm);
    call.op = op;
    return call;
  }
};

class ProgramThreadsTest : public ProgramTest {};

void add(const void* in, void* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<std::int32_t*>(inout)[i] += static_cast<const std::int32_t*>(in)[i];
}

// What the threads of a rank know of each other.
struct Meeting {
  std::atomic<bool> is_in_operator{false}, has_started{false}, is_over{false};
};
thread_local Meeting* meeting = nullptr;

// The operator waits until another thread has started a call on another communicator: that one must not wait
// for the operator.
TEST_F(ProgramThreadsTest, AnOperatorHoldsUpNoOtherThread) {
  options_.progress = "calls";
  for (const char* nodes : {"", "2x1"}) {
    options_.nodes = nodes;
    FakeWorld world(ranks);
    std::atomic<int> meetings{0}, held_up{0};
    const host::Op op = world.add_op(
        [&](const void* in, void* inout, std::size_t count, host::Datatype) {
          if (meeting != nullptr && !meeting->is_in_operator.exchange(true)) {
            for (int i = 0; i < 5000 && !meeting->has_started; ++i)
              std::this_thread::sleep_for(milliseconds(1));
            ++meetings;
            if (!meeting->has_started) ++held_up;
          }
          add(in, inout, count);
        },
        true);
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      host::Comm other{};
      host.comm_split(host.world(), 0, rank, &other);
      int error = 0;
      job.collective({.operation = Operation::barrier, .comm = other}, &error);
      Meeting own;
      std::thread second([&] {
        while (!own.is_in_operator && !own.is_over) std::this_thread::yield();
        Sum<std::int32_t> sum;
        const Call call = sum.call(other);
        EXPECT_EQ(job.start(call, sum.completion()), Outcome::done);
        own.has_started = true;
        sum.wait(job);
        EXPECT_EQ(sum.out.back(), ranks);
      });
      meeting = &own;
      Sum<std::int32_t> sum;
      EXPECT_EQ(job.start(sum.call(host.world(), op), sum.completion()), Outcome::done);
      sum.wait(job);
      EXPECT_EQ(sum.out.back(), ranks);
      meeting = nullptr;
      own.is_over = true;
      second.join();
      host.comm_free(&other);
    });
    EXPECT_GT(meetings, 0) << "nodes '" << nodes << "'";
    EXPECT_EQ(held_up, 0) << "nodes '" << nodes << "'";
  }
}

// The host makes them, or where one order of operands is asked for the program's threads alone.
TEST_F(ProgramThreadsTest, OperatorsOfTheProgramRunInItsThreads) {
  for (const bool is_reproducible : {false, true}) {
    options_.is_reproducible = is_reproducible;
    FakeWorld world(ranks);
    static thread_local bool is_of_program = false;
    std::atomic<int> calls{0}, aside{0};
    const host::Op op = world.add_op(
        [&](const void* in, void* inout, std::size_t count, host::Datatype) {
          ++calls;
          if (!is_of_program) ++aside;
          add(in, inout, count);
        },
        true);
    run_jobs(world, [&](Job& job, FakeHost& host, int) {
      is_of_program = true;
      Sum<std::int32_t> sum;
      const Outcome outcome = job.start(sum.call(host.world(), op), sum.completion());
      EXPECT_EQ(outcome, is_reproducible ? Outcome::done : Outcome::native);
      if (outcome == Outcome::done) {
        std::this_thread::sleep_for(milliseconds(60));
        sum.wait(job);
        EXPECT_EQ(sum.out.back(), ranks);
      }
      is_of_program = false;
    });
    EXPECT_EQ(aside, 0);
    EXPECT_EQ(calls > 0, is_reproducible);
  }
}

// The thread that starts the call rounds upward. Our thread lets it go on, or another one of the program.
TEST_F(ProgramThreadsTest, CallsAreComputedAsTheirThreadDoes) {
  for (const char* progress : {"thread", "calls"}) {
    if (std::string(progress) == "calls") options_.progress = "calls";
    run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
      for (int turn = 0; turn < 3; ++turn) {
        Sum<double> sum;
        sum.in.assign(elements, rank == 0 ? 1.0 : 1e-30);
        const Call call = sum.call(host.world());
        std::fesetround(FE_UPWARD);
        EXPECT_EQ(job.start(call, sum.completion()), Outcome::done);
        std::fesetround(FE_TONEAREST);
        if (std::string(progress) == "thread") std::this_thread::sleep_for(milliseconds(40));
        sum.wait(job);
        for (const double value : sum.out) ASSERT_GT(value, 1) << progress;
        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      }
    });
  }
}

}  // namespace
}  // namespace unisono::runtime::program_threads_test
