// SPDX-License-Identifier: BSD-3-Clause
// Agents that are threads of ranks, and are told to end while ranks have calls for them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "program.h"
#include "runtime/world/agent_thread.h"
#include "runtime/world/agents_here.h"

namespace unisono::runtime {
namespace {

class AgentThreadsEndTest : public ProgramTest {
 protected:
  AgentThreadsEndTest() {
    options_.agents = "thread";
    options_.nodes = "2x1";
    options_.agents_deadline = 60;
  }
};

// Whatever waits then hears of it as where processes die, but at once: nobody comes in its place.
TEST_F(AgentThreadsEndTest, one_that_is_told_to_end_ends_the_calls_that_it_had) {
  run_jobs(2, [](Job& job, FakeHost& host, int rank) {
    const double begin_s = now_s(), in = rank;
    double out = 0;
    int error = host::success;
    EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
    host.barrier(host.world());
    job.parts().world.agents->thread()->end_within(std::chrono::milliseconds(5000));
    EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
    EXPECT_EQ(error, host.rank_has_died());
    EXPECT_LT(now_s() - begin_s, 30);
  });
}

// One rank's thread has sent its part of a call, and waits for the result, when it is told to end. The rank
// hears of it, and the other's call goes on: what comes of that is written where the thread expected it.
TEST_F(AgentThreadsEndTest, one_that_is_told_to_end_within_a_call_keeps_what_the_mpi_writes_to) {
  // Node 1 receives into its segment, and has no scratch.
  options_.agents_algorithm = "allreduce:reduce_bcast";
  FakeWorld world(2);
  world.run([&](FakeHost& host, int rank) {
    Job job(host, options_);
    constexpr std::size_t count = 100;  // more than an answer's line holds
    const std::vector<double> in(count, rank + 0.5);
    std::vector<double> out(count);
    int error = host::success;
    EXPECT_EQ(start_and_wait(job, sum_call(host.world(), in.data(), out.data(), 1), &error), Outcome::done);
    host.barrier(host.world());
    const Call call = sum_call(host.world(), in.data(), out.data(), count);
    if (rank == 1) {
      End end;
      ASSERT_EQ(job.start(call, end.completion()), Outcome::done);
      const double deadline_s = now_s() + 20;
      while (world.leftovers().find("has not received a message from 1") == std::string::npos)
        ASSERT_LT(now_s(), deadline_s);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // and expects the result
      job.parts().world.agents->thread()->end_within(std::chrono::milliseconds(5000));
      end.wait(job);
      EXPECT_EQ(end.error, host.rank_has_died());
      host.barrier(host.world());
    } else {
      host.barrier(host.world());
      EXPECT_EQ(start_and_wait(job, call, &error), Outcome::done);
      EXPECT_EQ(error, host::success);
      EXPECT_EQ(out, std::vector<double>(count, 2));
    }
    host.barrier(host.world());
    host.progress();  // the MPI writes what has come
    job.finish();
  });
  const std::string left = world.leftovers();
  EXPECT_NE(left.find("rank 1 receive from 0"), std::string::npos) << left;
  EXPECT_NE(left.find("800 bytes: done, not tested"), std::string::npos) << left;
}

}  // namespace
}  // namespace unisono::runtime
