// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/freeing.h"

#include <gtest/gtest.h>

#include <thread>

#include "program.h"
#include "runtime/communicators/communicators.h"
#include "runtime/host_freeing.h"

namespace unisono::runtime::freeing_test {
namespace {

class FreeingOfJobsTest : public ProgramTest {};

// No job runs in these.
TEST(FreeingTest, MarksAreThereUntilTheHostHasReturned) {
  const host::Comm outer{1}, inner{2};
  EXPECT_FALSE(marks_while_freeing(outer));
  begin_freeing(outer, 5);
  begin_freeing(inner, 0);
  EXPECT_EQ(marks_while_freeing(inner), 0u);
  end_freeing(inner, true);
  EXPECT_FALSE(marks_while_freeing(inner));
  EXPECT_EQ(marks_while_freeing(outer), 5u);
  end_freeing(outer, false);
  EXPECT_FALSE(marks_while_freeing(outer));
}

// The host may give the handle to another thread's communicator at once.
TEST(FreeingTest, OtherThreadsKnowNothingOfIt) {
  const host::Comm comm{1};
  begin_freeing(comm, 5);
  std::thread([&] { EXPECT_FALSE(marks_while_freeing(comm)); }).join();
  end_freeing(comm, true);
}

// An error handler of the program may leave the host's call by longjmp: the program frees it once more.
TEST_F(FreeingOfJobsTest, AnAttemptThatDidNotComeBackLeavesTheState) {
  run_jobs(2, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    host::Comm fresh = split(host);
    rank.barrier(fresh);
    const Communicator* state = job.parts().communicators.find_known(fresh);
    ASSERT_NE(state, nullptr);
    job.parts().communicators.begin_freeing(fresh);
    EXPECT_EQ(job.parts().communicators.find_known(fresh), state);
    job.parts().communicators.begin_freeing(fresh);
    EXPECT_EQ(job.parts().communicators.find_known(fresh), state);
    rank.barrier(fresh);
    const host::Comm freed = fresh;
    host.comm_free(&fresh);
    job.parts().communicators.end_freeing(freed, true);
    EXPECT_EQ(find_freeing(freed), nullptr);
    EXPECT_EQ(job.parts().communicators.find_known(freed), nullptr);
  });
}

// Calls under way could not end: its state is where it was, and nothing else is made for it.
TEST_F(FreeingOfJobsTest, WithoutAHandedOverStateTheTableIsAsked) {
  run_jobs(2, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    host::Comm fresh = split(host);
    rank.barrier(fresh);
    const Communicator* state = job.parts().communicators.find_known(fresh);
    freeing_of(fresh).marks = 3;
    EXPECT_EQ(job.parts().communicators.find_known(fresh), state);
    forget_freeing(fresh);
    job.parts().communicators.begin_freeing(fresh);
    const host::Comm freed = fresh;
    host.comm_free(&fresh);
    job.parts().communicators.end_freeing(freed, true);
  });
}

}  // namespace
}  // namespace unisono::runtime::freeing_test
