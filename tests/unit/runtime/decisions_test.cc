// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that the program sets while it runs, and what it is told of decisions.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

namespace unisono::runtime::decisions_test {
namespace {

class DecisionsTest : public ProgramTest {
 protected:
  // A sum of `count` numbers of all ranks; who made it.
  static Outcome sum(Job* job, FakeHost& host, std::size_t count) {
    const int size = host.comm_size(host.world()), rank = host.comm_rank(host.world());
    std::vector<std::int32_t> in(count, rank + 1), out(count, -1);
    int error = 0;
    const Call call = sum_call(host.world(), in.data(), out.data(), count);
    const Outcome outcome = job->collective(call, &error);
    EXPECT_EQ(error, host::success);
    if (outcome == Outcome::done) {
      EXPECT_EQ(out, std::vector<std::int32_t>(count, size * (size + 1) / 2));
    }
    if (outcome == Outcome::native_timed) BlockingCalls::native_finished(1e-6);
    return outcome;
  }

  // An alltoallv that is left to the host, which takes a microsecond.
  static void exchange(Job* job, FakeHost& host) {
    const int counts[] = {1, 1}, places[] = {0, 1};
    std::int32_t in[2] = {1, 2}, out[2] = {};
    Call call{.operation = Operation::alltoallv, .comm = host.world()};
    call.send_blocks = {.buffer = in,
                        .counts = counts,
                        .displacements = places,
                        .type = fake_host::datatype(ElementType::int32)};
    call.recv_blocks = call.send_blocks;
    call.recv_blocks.buffer = out;
    int error = 0;
    const Outcome outcome = job->collective(call, &error);
    EXPECT_NE(outcome, Outcome::done);
    if (outcome == Outcome::native_timed) BlockingCalls::native_finished(1e-6);
  }

  static std::string decided(Job* job, std::int64_t bytes) {
    const auto choice = job->decision(Operation::allreduce, bytes);
    return choice ? choice->text() : "none";
  }
};

TEST_F(DecisionsTest, AProgramSetsAlgorithmsBetweenItsCalls) {
  run_jobs(4, [](Job& job, FakeHost& host, int) {
    const std::string by_itself = decided(&job, 8);
    EXPECT_EQ(by_itself, "fused");
    // Twice: the second call is remembered, and must be forgotten.
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
    EXPECT_TRUE(job.set_algorithm("allreduce:ring(segment=4K)"));
    EXPECT_EQ(decided(&job, 8).substr(0, 18), "ring(segment=4096,");
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
    EXPECT_EQ(sum(&job, host, 5000), Outcome::done);
    EXPECT_TRUE(job.set_algorithm("allreduce:native"));
    EXPECT_EQ(decided(&job, 8), "native");
    EXPECT_NE(sum(&job, host, 2), Outcome::done);
    EXPECT_TRUE(job.set_algorithm(""));
    EXPECT_EQ(decided(&job, 8), by_itself);
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
  });
}

TEST_F(DecisionsTest, WhatIsLeftToTheHostIsRememberedUntilDecidedAnew) {
  run_jobs(2, [](Job& job, FakeHost& host, int) {
    EXPECT_TRUE(job.set_algorithm("allreduce:native,alltoallv:native"));
    for (int i = 0; i < 3; ++i) EXPECT_NE(sum(&job, host, 2), Outcome::done);
    EXPECT_EQ(sum(&job, host, 0), Outcome::done) << "no data, nothing to do";
    EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::alltoallv, host.world(), nullptr))
        << "no call has been decided";
    exchange(&job, host);
    EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::allreduce, host.world(), nullptr))
        << "that depends on its bytes";
    const Reduced like{
        .count = 2, .type = fake_host::datatype(ElementType::int32), .op = fake_host::op(ReduceOp::sum)};
    EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::scan, host.world(), &like))
        << "of another operation";
    for (Reduced other :
         {Reduced{3, like.type, like.op}, Reduced{2, fake_host::datatype(ElementType::int64), like.op},
          Reduced{2, like.type, fake_host::op(ReduceOp::max)}}) {
      EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::allreduce, host.world(), &other));
    }
    int alike = 0;
    for (int i = 0; i < 200; ++i) {
      if (job.parts().blocking.leaves_to_host(Operation::allreduce, host.world(), &like))
        ++alike;
      else
        EXPECT_NE(sum(&job, host, 2), Outcome::done);
    }
    EXPECT_GT(alike, 100);
    // Those that are timed are asked for.
    int left = 0;
    for (int i = 0; i < 200; ++i) {
      if (job.parts().blocking.leaves_to_host(Operation::alltoallv, host.world(), nullptr)) {
        ++left;
      } else {
        exchange(&job, host);
      }
    }
    EXPECT_GT(left, 100);
    EXPECT_TRUE(job.set_algorithm("alltoallv:flat"));
    EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::alltoallv, host.world(), nullptr));
    EXPECT_FALSE(job.parts().blocking.leaves_to_host(Operation::allreduce, host.world(), &like))
        << "decided anew";
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
  });
}

TEST_F(DecisionsTest, NonsenseChangesNothing) {
  run_jobs(2, [](Job& job, FakeHost&, int) {
    EXPECT_TRUE(job.set_algorithm("allreduce:recursive_doubling"));
    EXPECT_FALSE(job.set_algorithm("allreduce:none_such"));
    EXPECT_FALSE(job.set_algorithm("allreduce"));
    EXPECT_EQ(decided(&job, 8).substr(0, 18), "recursive_doubling");
  });
}

TEST_F(DecisionsTest, WhatMayNotRunIsNotToldAsDecided) {
  run_jobs(3, [](Job& job, FakeHost& host, int) {
    const std::string by_itself = decided(&job, 8);
    EXPECT_TRUE(job.set_algorithm("allreduce:two_level_ring"));
    EXPECT_EQ(decided(&job, 8), by_itself) << "one node has no two levels";
    EXPECT_EQ(sum(&job, host, 2), Outcome::done);
  });
}

}  // namespace
}  // namespace unisono::runtime::decisions_test
