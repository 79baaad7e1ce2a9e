// SPDX-License-Identifier: BSD-3-Clause
// Communicators with few calls are not set up (option set_up_after): which call is the first that Unisono
// takes, the same on all ranks. A job hangs where ranks differ.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "program.h"

namespace unisono::runtime::early_test {
namespace {

using host::Comm;

constexpr int ranks = 4;

struct Taken {
  int first = -1;  // number of the first call that Unisono took; -1: none
  int count = 0;
};

class EarlyTest : public ProgramTest {
 protected:
  EarlyTest() { options_.set_up_after = 8; }

  static Taken allreduces(FakeHost& host, Job& job, Comm comm, int calls, std::size_t elements) {
    Taken taken;
    std::vector<std::int32_t> in(elements, 3), out(in.size());
    for (int i = 0; i < calls; ++i) {
      const Call call = sum_call(comm, in.data(), out.data(), elements);
      int error = 0;
      if (job.collective(call, &error) == Outcome::native) {
        // What the program's own call would do.
        std::uint64_t sum = 3;
        host.agree(&sum, 1, host::AgreeOp::sum, comm);
        EXPECT_EQ(sum, 3u * ranks);
        continue;
      }
      EXPECT_EQ(error, 0);
      EXPECT_EQ(out, std::vector<std::int32_t>(in.size(), 3 * ranks));
      if (taken.count++ == 0) taken.first = i;
    }
    return taken;
  }

  // On a duplicate of the world, after `prepare` had it.
  template <class Prepare>
  void expect_first(int first, int calls, std::size_t elements, Prepare prepare) {
    run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
      Comm comm{};
      ASSERT_EQ(host.comm_split(host.world(), 0, rank, &comm), host::success);
      prepare(host, job, comm, rank);
      const Taken taken = allreduces(host, job, comm, calls, elements);
      EXPECT_EQ(taken.first, first) << "rank " << rank;
      EXPECT_EQ(taken.count, first < 0 ? 0 : calls - first) << "rank " << rank;
      host.comm_free(&comm);
    });
  }
  static void nothing(FakeHost&, Job&, Comm, int) {}
};

TEST_F(EarlyTest, TheWorldIsTakenFromTheFirstCallOn) {
  run_jobs(ranks, [&](Job& job, FakeHost& host, int) {
    EXPECT_EQ(allreduces(host, job, host.world(), 3, 4).first, 0);
  });
}

TEST_F(EarlyTest, OthersAfterSoManySmallCalls) {
  expect_first(7, 12, 4, nothing);
}

TEST_F(EarlyTest, LongCallsCountForMore) {
  expect_first(1, 5, 4096, nothing);   // 16 KiB: 1 + 4
  expect_first(0, 5, 65536, nothing);  // 256 KiB
}

TEST_F(EarlyTest, CommunicatorsThatEndBeforeAreNeverSetUp) {
  expect_first(-1, 7, 4, nothing);
}

TEST_F(EarlyTest, AtOnceWhereEveryCallMatters) {
  const Options usual = options_;
  const auto expect_it = [&](const char* with) {
    SCOPED_TRACE(with);
    expect_first(0, 3, 4, nothing);
    options_ = usual;
  };
  options_.is_reproducible = true;
  expect_it("reproducible");
  options_.set_up_after = 0;
  expect_it("set_up_after 0");
  options_.algorithm = "allreduce:ring";
  expect_it("an algorithm");
}

TEST_F(EarlyTest, AtOnceWhereTheProgramForcesAnAlgorithm) {
  expect_first(0, 3, 4,
               [](FakeHost&, Job& job, Comm, int) { EXPECT_TRUE(job.set_algorithm("allreduce:ring")); });
}

// One rank's info key is enough; the others know that there was one.
TEST_F(EarlyTest, AtOnceWhereTheCommunicatorHasHints) {
  expect_first(0, 3, 4, [](FakeHost& host, Job&, Comm comm, int rank) {
    host.set_reproducible_hint(comm, rank == 1 ? host::Hint::yes : host::Hint::none);
    std::uint64_t one = 1;
    host.agree(&one, 1, host::AgreeOp::sum, comm);
  });
}

}  // namespace
}  // namespace unisono::runtime::early_test
