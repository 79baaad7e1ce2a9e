// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block: several under way, on several communicators, started in different orders, with
// blocking ones between them. TEST_SEED repeats a run. (Each operation by itself: job_test.cc.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"
#include "program.h"
#include "runtime/communicators/communicators.h"

namespace unisono::runtime::nonblocking_test {
namespace {

class NonBlockingTest : public ProgramTest {
 protected:
  // Between nodes the rules leave small broadcasts to the host.
  void set_nodes(const char* nodes) {
    options_.nodes = nodes;
    options_.algorithm = *nodes == 0 ? "" : "bcast:binomial";
  }
};

TEST_F(NonBlockingTest, CompletesInAnyOrderOfWaiting) {
  for (const char* nodes : {"", "2x2", "4x1", "1,3"}) {
    set_nodes(nodes);
    run_jobs(4, [](Job& job, FakeHost& host, int) {
      Rank rank(job, host);
      constexpr int count = 8;
      std::deque<Started> calls(count);
      for (int i = 0; i < count; ++i)
        rank.start(&calls[i], rank.prepare(&calls[i], host.world(), i, i % 2 == 0 ? 3 : 20'000));
      for (int i = count; i-- > 0;) rank.wait(calls[i]);
      EXPECT_EQ(job.parts().progress.under_way(), 0);
    });
  }
}

// Where one slice serves both kinds of calls: the pool has no room for a second one.
TEST_F(NonBlockingTest, BlockingCallsComeAfterThoseUnderWayInOneSlice) {
  options_.pool_bytes = 1 << 20;
  run_jobs(4, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    Started first, second;
    rank.start(&first, rank.prepare(&first, host.world(), 1, 10'000));
    rank.run_blocking(second, rank.prepare(&second, host.world(), 2, 5));
    EXPECT_TRUE(first.is_ended);
    rank.wait(first);
  });
}

// MPI leaves it open whether a blocking call waits for others on its communicator. Rank 0 makes the two in
// another order than the rest, which MPI forbids and every MPI lets pass. Here it passes once both kinds have
// slices of their own: the first call shares one where another rank is just taking room for the second.
TEST_F(NonBlockingTest, BlockingCallsWaitForNoneUnderWay) {
  for (const char* nodes : {"", "2x2", "4x1", "1,3"}) {
    for (const std::size_t count : {3, 20'000}) {
      set_nodes(nodes);
      run_jobs(4, [count](Job& job, FakeHost& host, int number) {
        Rank rank(job, host);
        for (int before = 0; before < 2; ++before) {
          Started in_order;
          rank.start(&in_order, rank.prepare(&in_order, host.world(), 1, count));
          rank.wait(in_order);
          rank.barrier(host.world());
        }
        for (int round = 0; round < 3; ++round) {
          Started first, second;
          const Call call_first = rank.prepare(&first, host.world(), 1 + round, count);
          const Call call_second = rank.prepare(&second, host.world(), 2 + round, count);
          if (number == 0) rank.run_blocking(second, call_second);
          rank.start(&first, call_first);
          if (number != 0) rank.run_blocking(second, call_second);
          rank.wait(first);
        }
        EXPECT_EQ(job.parts().progress.under_way(), 0);
      });
    }
  }
}

// Communicators for which the host has no tags are left to it, and those that have them keep within.
TEST_F(NonBlockingTest, TakesNoTagsThatTheHostHasNot) {
  set_nodes("4x1");
  constexpr int numbers = 2;
  run_jobs(4,
           [](Job& job, FakeHost& host, int) {
             Rank rank(job, host);
             host::Comm second = split(host), third = split(host);
             rank.barrier(second);
             int error = 0;
             EXPECT_EQ(job.collective({.operation = Operation::barrier, .comm = third}, &error),
                       Outcome::native);
             for (const host::Comm comm : {host.world(), second}) {
               Started first, other;
               rank.start(&first, rank.prepare(&first, comm, 1, 20'000));
               rank.run_blocking(other, rank.prepare(&other, comm, 2, 20'000));
               rank.wait(first);
             }
             // What is freed is there again.
             host.comm_free(&second);
             host::Comm fourth = split(host);
             rank.barrier(fourth);
             host.comm_free(&third);
             host.comm_free(&fourth);
           },
           {.largest_tag = numbers * static_cast<int>(Communicator::tags_of_number) - 1});
}

// A program may ask for another algorithm while calls are under way, by one that was learned too.
TEST_F(NonBlockingTest, CallsUnderWayKeepTheirAlgorithm) {
  for (const char* learn : {"off", "star"}) {
    options_.learn = learn;
    options_.learn_iterations = 1;
    run_jobs(4, [](Job& job, FakeHost& host, int) {
      Rank rank(job, host);
      std::deque<Started> calls(20);
      for (Started& s : calls) {
        const Call call = rank.prepare(&s, host.world(), 1, 4);
        for (int i = 0; i < 100; ++i) {
          int error = host::success;
          constexpr double slow_s = 1;
          if (job.collective(call, &error) == Outcome::native_timed) BlockingCalls::native_finished(slow_s);
        }
        rank.start(&s, call);
        ASSERT_TRUE(job.set_algorithm("allreduce:ring") && job.set_algorithm(""));
        rank.wait(s);
      }
    });
  }
}

// Rank 0 starts on A and waits in a blocking call on B; the others do it the other way round.
TEST_F(NonBlockingTest, BlockingCallsElsewhereLetThemGoOn) {
  for (const char* nodes : {"", "2x2"}) {
    set_nodes(nodes);
    run_jobs(4, [](Job& job, FakeHost& host, int number) {
      Rank rank(job, host);
      const host::Comm a = host.world();
      host::Comm b = split(host);
      rank.barrier(b);
      Started on_a, on_b;
      const Call call_a = rank.prepare(&on_a, a, 1, 30'000);
      const Call call_b = rank.prepare(&on_b, b, 2, 30'000);
      if (number == 0) {
        rank.start(&on_a, call_a);
        rank.run_blocking(on_b, call_b);
      } else {
        rank.run_blocking(on_b, call_b);
        rank.start(&on_a, call_a);
      }
      rank.wait(on_a);
      host.comm_free(&b);
    });
  }
}

// Rank 0 is in the host, which knows nothing of the call that the others wait for.
TEST_F(NonBlockingTest, GoOnWhileTheProgramIsInTheHost) {
  for (const char* nodes : {"", "2x2"}) {
    set_nodes(nodes);
    run_jobs(4, [](Job& job, FakeHost& host, int number) {
      Rank rank(job, host);
      Started first, second;
      rank.start(&first, rank.prepare(&first, host.world(), 1, 30'000));
      rank.start(&second, rank.prepare(&second, host.world(), 2, 10));
      if (number != 0) rank.wait(second);
      EXPECT_EQ(host.barrier(host.world()), host::success);
      rank.wait(first);
      rank.wait(second);
    });
  }
}

TEST_F(NonBlockingTest, IsLeftToTheHostBeforeSetUp) {
  run_jobs(2, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    host::Comm fresh = split(host);
    Started s;
    const Call call = rank.prepare(&s, fresh, 1, 4);
    EXPECT_EQ(job.start(call, {}), Outcome::native);
    rank.barrier(fresh);
    rank.start(&s, call);
    rank.wait(s);
    host.comm_free(&fresh);
  });
}

TEST_F(NonBlockingTest, FreedCommunicatorsEndTheirCalls) {
  run_jobs(3, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    host::Comm fresh = split(host);
    rank.barrier(fresh);
    Started s;
    rank.start(&s, rank.prepare(&s, fresh, 4, 50'000));
    host.comm_free(&fresh);
    EXPECT_TRUE(s.is_ended);
    s.expect_result();
  });
}

// MPI 4.1, section 7.7.2: delete callbacks may use the communicator that the host is freeing.
TEST_F(NonBlockingTest, CommunicatorsServeUntilTheHostHasFreedThem) {
  run_jobs(3, [](Job& job, FakeHost& host, int) {
    Rank rank(job, host);
    for (const bool is_used_before : {true, false}) {
      host::Comm fresh = split(host);
      if (is_used_before) rank.barrier(fresh);
      // Refused: it lives on, with its state.
      job.parts().communicators.begin_freeing(fresh);
      rank.barrier(fresh);
      job.parts().communicators.end_freeing(fresh, false);
      rank.barrier(fresh);
      // Freed: a call that its callbacks have started ends.
      job.parts().communicators.begin_freeing(fresh);
      rank.barrier(fresh);
      Started s;
      rank.start(&s, rank.prepare(&s, fresh, 4, 50'000));
      const host::Comm freed = fresh;
      host.comm_free(&fresh);
      job.parts().communicators.end_freeing(freed, true);
      EXPECT_TRUE(s.is_ended);
      s.expect_result();
    }
  });
}

// What is started, on which communicator, when something is waited for: at random, the same on all ranks but
// for the order of waiting.
TEST_F(NonBlockingTest, RandomSequences) {
  constexpr int rounds = 12, steps = 40;
  for (int round = 0; round < rounds; ++round) {
    const char* layouts[] = {"", "2x2", "1,3", "2x2/cyclic"};
    set_nodes(layouts[round % 4]);
    options_.pool_bytes = round % 3 == 0 ? 3 << 20 : 64 << 20;
    run_jobs(4, [round](Job& job, FakeHost& host, int number) {
      Rank rank(job, host);
      host::Comm comms[] = {host.world(), split(host), split(host)};
      for (const host::Comm comm : comms) rank.barrier(comm);
      std::mt19937 same(seed() + static_cast<unsigned>(round));
      std::mt19937 own(seed() + static_cast<unsigned>(round * 100 + number));
      std::deque<Started> calls;
      std::vector<Started*> open;
      for (int step = 0; step < steps; ++step) {
        const host::Comm comm = comms[same() % 3];
        const std::size_t count = same() % 4 == 0 ? 8'000 : same() % 50 + 1;
        const bool is_blocking = same() % 8 == 0;
        calls.emplace_back();
        const Call call = rank.prepare(&calls.back(), comm, step, count);
        if (is_blocking) {
          rank.run_blocking(calls.back(), call);
          continue;
        }
        rank.start(&calls.back(), call);
        open.push_back(&calls.back());
        if (own() % 3 != 0) continue;
        const std::size_t which = own() % open.size();
        rank.wait(*open[which]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (const Started* s : open) rank.wait(*s);
      for (int i = 1; i < 3; ++i) host.comm_free(&comms[i]);
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace unisono::runtime::nonblocking_test
