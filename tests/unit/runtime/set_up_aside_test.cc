// SPDX-License-Identifier: BSD-3-Clause
// Communicators on which the program makes no call that may block. They are set up beside it, and served from
// one call on, the same on all ranks. The host makes the calls before, in the tests as for a program. Where
// ranks differ in who makes a call, a job hangs, or the fake host says that collectives are in another order.
// TEST_SEED repeats a run.
#include "runtime/communicators/set_up_aside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"
#include "program.h"
#include "runtime/calls/persistent_calls.h"
#include "runtime/communicators/communicators.h"

namespace unisono::runtime::set_up_aside_test {
namespace {

using host::Comm;

constexpr int ranks = 4;

// A call that does not block, by whomever.
struct ByEither : Started {
  std::vector<std::int64_t> gathered;
  host::Request request{};  // where the host makes it
  bool is_ours = false;
};

class EitherRank : public Rank {
 public:
  using Rank::Rank;

  // Call number `number` on `comm`, the same on all its ranks. True where it is Unisono's.
  bool start(ByEither* s, Comm comm, int number, std::size_t count = 5) {
    const Call call = numbered_call(host_, comm, number, count, s);
    s->is_ours = job_.start(call, s->completion()) == Outcome::done;
    if (s->is_ours) return true;
    s->gathered.resize(count * static_cast<std::size_t>(host_.comm_size(comm)));
    const std::vector<std::int64_t>& own = call.operation == Operation::bcast ? s->out : s->in;
    EXPECT_EQ(
        host_.start_allgather_bytes(own.data(), count * sizeof own[0], s->gathered.data(), comm, &s->request),
        host::success);
    s->in.push_back(call.operation == Operation::bcast ? call.root : -1);
    return false;
  }

  void wait(ByEither* s) {
    make_progress_until(job_, [&] {
      if (!s->is_ended && !s->is_ours) look_at_host(s);
      return s->is_ended.load();
    });
    EXPECT_EQ(s->error, host::success);
    s->expect_result();
  }

  bool run(Comm comm, int number, std::size_t count = 5) {
    ByEither s;
    const bool is_ours = start(&s, comm, number, count);
    wait(&s);
    return is_ours;
  }

  // So many calls, each waited for: the first that was Unisono's, from which on all are. -1: none.
  int first_of_ours(Comm comm, int calls, std::size_t count = 5) {
    int first = -1;
    for (int i = 0; i < calls; ++i) {
      const bool is_ours = run(comm, i, count);
      EXPECT_TRUE(is_ours || first < 0) << i;
      if (is_ours && first < 0) first = i;
    }
    return first;
  }

  // The same on all ranks of the world?
  void expect_agreed(int value) {
    std::uint64_t least = static_cast<std::uint64_t>(value + 1), most = least;
    host_.agree(&least, 1, host::AgreeOp::min, host_.world());
    host_.agree(&most, 1, host::AgreeOp::max, host_.world());
    EXPECT_EQ(least, most);
  }

 private:
  // The host's part: what its own collective would have made of it.
  void look_at_host(ByEither* s) {
    bool is_done = false;
    EXPECT_EQ(host_.test(&s->request, &is_done), host::success);
    if (!is_done) return;
    s->is_ended = true;
    const auto root = s->in.back();
    const std::size_t count = s->out.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (root >= 0) {
        s->out[i] = s->gathered[static_cast<std::size_t>(root) * count + i];
        continue;
      }
      s->out[i] = 0;
      for (std::size_t at = i; at < s->gathered.size(); at += count) s->out[i] += s->gathered[at];
    }
  }
};

class SetUpAsideTest : public ProgramTest {
 protected:
  // Each rank's part of a job with one duplicate of the world, which is freed and must leave nothing.
  template <class Body>
  void run(Body body, const fake_host::Options& options = {}) {
    run_jobs(
        ranks,
        [&](Job& job, FakeHost& host, int number) {
          EitherRank rank(job, host);
          Comm comm = split(host);
          body(rank, comm, job, host, number);
          host.comm_free(&comm);
        },
        options);
  }
};

TEST_F(SetUpAsideTest, CallsAreServedFromOneCallOn) {
  run([](EitherRank& rank, Comm comm, Job&, FakeHost&, int) {
    const int first = rank.first_of_ours(comm, 40);
    EXPECT_GT(first, 0);  // what the ranks tell each other cannot have come at the first call
    rank.expect_agreed(first);
  });
}

TEST_F(SetUpAsideTest, WhatTheyCountForIsWhatBlockingOnesDo) {
  options_.set_up_after = 8;
  run([](EitherRank& rank, Comm comm, Job&, FakeHost&, int) { EXPECT_GT(rank.first_of_ours(comm, 60), 7); });
  run([](EitherRank& rank, Comm comm, Job& job, FakeHost& host, int) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_FALSE(rank.run(comm, i));
      int error = 0;
      EXPECT_EQ(job.collective({.operation = Operation::barrier, .comm = comm}, &error),
                i < 3 ? Outcome::native : Outcome::done);
      if (i < 3) host.barrier(comm);
    }
    EXPECT_TRUE(rank.run(comm, 5));
  });
}

TEST_F(SetUpAsideTest, FewCallsAreTheHosts) {
  options_.set_up_after = 8;
  run([](EitherRank& rank, Comm comm, Job&, FakeHost&, int) { EXPECT_EQ(rank.first_of_ours(comm, 7), -1); });
}

// EitherRank 0 starts all its calls before the others make their first one; they wait for each.
TEST_F(SetUpAsideTest, RanksMayBeFarAhead) {
  for (const int ahead : {0, 2, 3}) {
    run([ahead](EitherRank& rank, Comm comm, Job&, FakeHost& host, int number) {
      constexpr int calls = 30;
      std::deque<ByEither> started(calls);
      if (number == ahead) {
        for (int i = 0; i < calls; ++i) EXPECT_FALSE(rank.start(&started[i], comm, i));
        host.barrier(host.world());
        for (ByEither& s : started) rank.wait(&s);
      } else {
        host.barrier(host.world());
        for (int i = 0; i < calls; ++i) EXPECT_FALSE(rank.run(comm, i));
      }
      const int first = rank.first_of_ours(comm, 30);
      EXPECT_GE(first, 0);
      rank.expect_agreed(first);
    });
  }
}

// No call waits for one of another rank: not those of the set-up, and not those of Unisono.
TEST_F(SetUpAsideTest, CallsNeverWait) {
  run([](EitherRank& rank, Comm comm, Job& job, FakeHost& host, int number) {
    for (int round = 0; round < 6; ++round) {
      std::deque<ByEither> started(20);
      for (int turn = 0; turn < ranks; ++turn) {
        if (turn == number) {
          for (int i = 0; i < 20; ++i) rank.start(&started[i], comm, i + 1);
        }
        host.barrier(host.world());
      }
      for (ByEither& s : started) rank.wait(&s);
      EXPECT_EQ(started.front().is_ours, round > 1);
    }
    EXPECT_EQ(job.parts().progress.under_way(), 0);
  });
}

TEST_F(SetUpAsideTest, BlockingCallsEndIt) {
  for (const int late : {0, 1}) {
    run([late](EitherRank& rank, Comm comm, Job&, FakeHost& host, int number) {
      ByEither first;
      if (number == late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_FALSE(rank.start(&first, comm, 1));
      rank.run_blocking(comm, 2);
      EXPECT_TRUE(rank.run(comm, 3));
      rank.wait(&first);
      host.barrier(host.world());
    });
  }
}

TEST_F(SetUpAsideTest, BlockingCallsComeAfterThoseUnderWay) {
  run([](EitherRank& rank, Comm comm, Job&, FakeHost&, int) {
    EXPECT_GE(rank.first_of_ours(comm, 40), 0);
    std::deque<ByEither> started(5);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(rank.start(&started[i], comm, i, 20'000));
    rank.run_blocking(comm, 7);
    for (ByEither& s : started) {
      EXPECT_TRUE(s.is_ended);
      rank.wait(&s);
    }
    EXPECT_TRUE(rank.run(comm, 8));
  });
}

TEST_F(SetUpAsideTest, PersistentCallsEndIt) {
  run([](EitherRank& rank, Comm comm, Job& job, FakeHost&, int) {
    ByEither first;
    EXPECT_FALSE(rank.start(&first, comm, 1));
    EXPECT_EQ(job.parts().persistent.prepare({.operation = Operation::barrier, .comm = comm}).outcome,
              Outcome::done);
    EXPECT_TRUE(rank.run(comm, 2));
    rank.wait(&first);
  });
}

// Nothing of the pool is kept: it would be full after a few.
TEST_F(SetUpAsideTest, CommunicatorsMayEndMeanwhile) {
  options_.pool_bytes = 8 << 20;
  for (const int calls : {1, 2, 3}) {
    run([calls](EitherRank& rank, Comm comm, Job&, FakeHost& host, int number) {
      for (int round = 0; round < 25; ++round) {
        Comm fresh = split(host);
        std::deque<ByEither> started(static_cast<std::size_t>(calls));
        for (int i = 0; i < calls; ++i) {
          rank.start(&started[i], fresh, i);
          if ((i + number) % 2 == 0) rank.wait(&started[i]);
        }
        host.comm_free(&fresh);
        for (ByEither& s : started) rank.wait(&s);
      }
      EXPECT_GE(rank.first_of_ours(comm, 40), 0);
    });
  }
}

TEST_F(SetUpAsideTest, TheJobMayEndMeanwhile) {
  for (const int calls : {1, 2, 30}) {
    run_jobs(ranks, [&](Job& job, FakeHost& host, int) {
      EitherRank rank(job, host);
      const Comm comm = split(host);
      rank.first_of_ours(comm, calls);
    });
  }
}

// One rank cannot take the memory: all others hear it.
TEST_F(SetUpAsideTest, WhereItFailsTheHostGoesOn) {
  options_.pool_bytes = 1 << 20;
  options_.channel_bytes = 1 << 20;
  options_.algorithm = "allreduce:ring";
  run([](EitherRank& rank, Comm comm, Job&, FakeHost& host, int) {
    Comm other = split(host);
    EXPECT_EQ(rank.first_of_ours(comm, 40), -1);
    rank.run_blocking(comm, 1);  // by messages
    EXPECT_TRUE(rank.run(comm, 2));
    EXPECT_EQ(rank.first_of_ours(other, 40), -1);
    host.comm_free(&other);
  });
}

TEST_F(SetUpAsideTest, BetweenNodesAndWhereCallsAreCheckedBlockingCallsDoIt) {
  const Options usual = options_;
  const auto expect_served = [&](bool is_served) {
    SCOPED_TRACE(to_text(options_));
    run([is_served](EitherRank& rank, Comm comm, Job&, FakeHost&, int) {
      EXPECT_EQ(rank.first_of_ours(comm, 40) >= 0, is_served);
    });
    options_ = usual;
  };
  expect_served(true);
  options_.nodes = "2x2";
  expect_served(false);
  options_.verify = "all";
  expect_served(false);
  options_.use_shared_memory = false;
  expect_served(false);
}

// One rank's info key is enough.
TEST_F(SetUpAsideTest, ReproducibleCommunicatorsAreServed) {
  run([](EitherRank& rank, Comm comm, Job&, FakeHost& host, int number) {
    host.set_reproducible_hint(comm, number == 1 ? host::Hint::yes : host::Hint::none);
    host.barrier(comm);
    EXPECT_GE(rank.first_of_ours(comm, 40), 0);
  });
}

TEST_F(SetUpAsideTest, OtherHintsBeginAnew) {
  run([](EitherRank& rank, Comm comm, Job& job, FakeHost& host, int) {
    for (const int calls : {1, 2, 40}) {
      rank.first_of_ours(comm, calls);
      job.parts().communicators.forget(comm);
      host.barrier(comm);
    }
    EXPECT_GE(rank.first_of_ours(comm, 40), 0);
  });
}

// Threads set up at once, some by calls that block, some by others; which numbers are free concerns the first
// alone.
TEST_F(SetUpAsideTest, ThreadsSetUpBothWaysAtOnce) {
  constexpr int threads = 4, rounds = 10;
  run_jobs(ranks,
           [](Job& job, FakeHost& host, int) {
             std::vector<Comm> bases;
             for (int i = 0; i < threads; ++i) bases.push_back(split(host));
             std::vector<std::thread> running;
             for (int thread = 0; thread < threads; ++thread) {
               running.emplace_back([&, thread] {
                 EitherRank rank(job, host);
                 for (int round = 0; round < rounds; ++round) {
                   Comm made{};
                   host.comm_split(bases[thread], 0, host.comm_rank(bases[thread]), &made);
                   if (thread % 2 == 0) rank.run_blocking(made, round);
                   EXPECT_GE(rank.first_of_ours(made, 30), 0);
                   rank.run_blocking(made, round + 1);
                   host.comm_free(&made);
                 }
               });
             }
             for (std::thread& thread : running) thread.join();
             for (Comm& base : bases) host.comm_free(&base);
           },
           {.seed = seed(), .max_delay = 2});
}

// Random is what is started, on which communicator, when something is waited for, and whether a communicator
// ends or a blocking call comes. It is the same on all ranks but for the order of waiting.
TEST_F(SetUpAsideTest, RandomSequences) {
  constexpr int rounds = 30, steps = 80;
  for (int round = 0; round < rounds; ++round) {
    options_.set_up_after = round % 3 == 0 ? 6 : 0;
    FakeWorld world(ranks, {.seed = seed() + static_cast<unsigned>(round), .max_delay = round % 4});
    std::atomic<int> ours = 0;
    run_jobs(world, [&](Job& job, FakeHost& host, int number) {
      EitherRank rank(job, host);
      std::vector<Comm> comms = {split(host), split(host, number / 2), split(host, number % 2)};
      std::mt19937 same(seed() + static_cast<unsigned>(round));
      std::mt19937 own(seed() + static_cast<unsigned>(round * 100 + number));
      std::deque<ByEither> calls;
      std::vector<ByEither*> open;
      for (int step = 0; step < steps; ++step) {
        const std::uint32_t which = same() % 3, what = same() % 24;
        const std::size_t count = same() % 4 == 0 ? 4'000 : same() % 50 + 1;
        if (what == 0) {
          host.comm_free(&comms[which]);
          comms[which] = split(host, which == 0 ? 0 : which == 1 ? number / 2 : number % 2);
          continue;
        }
        calls.emplace_back();
        ours += rank.start(&calls.back(), comms[which], step, count) ? 1 : 0;
        open.push_back(&calls.back());
        if (own() % 3 != 0) continue;
        const std::size_t waited = own() % open.size();
        rank.wait(open[waited]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(waited));
      }
      for (ByEither* s : open) rank.wait(s);
      for (Comm& comm : comms) host.comm_free(&comm);
    });
    EXPECT_GT(ours, 0);
    if (HasFailure()) return;
  }
}

// Each thread looks from a call of its own on, and makes calls at its own pace.
TEST(SwitchPointTest, AllAgreeOnEachCall) {
  constexpr int threads = 4, calls = 400, rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    auto point = std::make_unique<SwitchPoint>();
    std::vector<std::vector<int>> said(threads, std::vector<int>(calls + 1, 0));
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        std::mt19937 random(seed() + static_cast<unsigned>(round * threads + thread));
        const unsigned from = 1 + random() % 100;
        for (unsigned call = 1; call <= calls; ++call) {
          if (call == from) point->join(call - 1);
          if (call >= from) said[thread][call] = point->is_past(call, threads) ? 1 : 0;
          if (random() % 8 == 0) std::this_thread::yield();
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    for (int thread = 1; thread < threads; ++thread) ASSERT_EQ(said[thread], said[0]) << round;
    ASSERT_TRUE(std::is_sorted(said[0].begin(), said[0].end()));
  }
}

// Room that one rank alone can take, and that may come late. All agree on the call from which on it is used.
// It is taken once. A look at a pool that is full for now settles nothing.
TEST(StartedPlaceTest, AllAgreeOnEachCallAndTakeRoomOnce) {
  constexpr int threads = 4, calls = 40, rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    auto place = std::make_unique<StartedPlace>();
    std::atomic<int> looks{0}, taken{0};
    const auto take = [&]() -> std::int64_t {
      if (looks++ < round % 4) return -1;
      return taken++ == 0 ? 4096 : -1;
    };
    std::vector<std::vector<int>> said(threads, std::vector<int>(calls + 1, 0));
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        std::mt19937 random(seed() + static_cast<unsigned>(round * threads + thread));
        for (unsigned call = 1; call <= calls; ++call) {
          said[thread][call] = place->is_past(call, take) ? 1 : 0;
          if (random() % 8 == 0) std::this_thread::yield();
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    for (int thread = 1; thread < threads; ++thread) ASSERT_EQ(said[thread], said[0]) << round;
    ASSERT_TRUE(std::is_sorted(said[0].begin(), said[0].end()));
    ASSERT_EQ(said[0].back(), 1) << round;
    ASSERT_EQ(taken, 1);
    ASSERT_EQ(place->offset(), 4096);
  }
}

}  // namespace
}  // namespace unisono::runtime::set_up_aside_test
