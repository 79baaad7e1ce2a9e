// SPDX-License-Identifier: BSD-3-Clause
// Places of persistent calls: each rank starts them in an order of its own, keeps them beyond their
// communicator, and gives them back when it likes. (Each operation by itself: job_test.cc.) TEST_SEED repeats
// a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"
#include "program.h"
#include "runtime/calls/persistent_calls.h"
#include "runtime/communicators/communicators.h"

namespace unisono::runtime::persistent_test {
namespace {

struct Made : Numbers {
  Prepared prepared;
  Call call;
  int under_way = 0;
  int error = 0;

  bool is_taken() const { return prepared.outcome == Outcome::done; }
  void clear() {
    if (call.operation == Operation::bcast) {
      std::ranges::copy(in, out.begin());
    } else {
      std::ranges::fill(out, -1);
    }
  }
};

class PersistentRank : public Rank {
 public:
  using Rank::Rank;

  void prepare(Made* made, host::Comm comm, int number, std::size_t count) {
    prepare(made, numbered_call(host_, comm, number, count, made));
  }
  // From the rank before to the one behind.
  void prepare_on_ring(Made* made, host::Comm comm, int number, std::size_t count) {
    Call call = numbered_call(host_, comm, number, count, made);
    call.operation = Operation::neighbor_allgather;
    call.send_blocks = {.buffer = made->in.data(), .count = count, .type = call.send_type};
    call.recv_blocks = {.buffer = made->out.data(), .count = count, .type = call.send_type};
    const int size = host_.comm_size(comm);
    made->expected = number + (host_.comm_rank(comm) + size - 1) % size;
    prepare(made, call);
  }
  void start(Made* made) {
    made->clear();
    ++made->under_way;
    const Completion completion{[](void* context, int error) {
                                  auto* ended = static_cast<Made*>(context);
                                  ended->error = error;
                                  --ended->under_way;
                                },
                                made};
    ASSERT_EQ(job_.parts().persistent.start(made->prepared.call, completion), Outcome::done);
  }
  void wait(const Made& made) {
    make_progress_until(job_, [&] { return made.under_way == 0; });
    ASSERT_EQ(made.error, host::success);
    made.expect_result();
  }

 private:
  void prepare(Made* made, const Call& call) {
    made->call = call;
    made->call.is_persistent = true;
    made->prepared = job_.parts().persistent.prepare(made->call);
  }
};

class PersistentTest : public ProgramTest {
 protected:
  // Between nodes the rules leave small calls to the host.
  void set_nodes(const char* nodes) {
    options_.nodes = nodes;
    options_.algorithm = *nodes == 0 ? "" : "bcast:binomial,allreduce:recursive_doubling";
  }
};

TEST_F(PersistentTest, StartsInAnyOrderWithOtherCallsBetween) {
  const unsigned seed_of_run = seed();
  for (const char* nodes : {"", "2x2", "4x1"}) {
    set_nodes(nodes);
    run_jobs(4, [seed_of_run](Job& job, FakeHost& host, int world_rank) {
      PersistentRank rank(job, host);
      std::mt19937 own(seed_of_run + static_cast<unsigned>(world_rank));
      std::deque<Made> calls(12);
      for (int i = 0; i < 12; ++i) rank.prepare(&calls[i], host.world(), i, i % 2 == 0 ? 3 : 20'000);
      for (int turn = 0; turn < 6; ++turn) {
        std::vector<int> order(calls.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        std::ranges::shuffle(order, own);
        const auto between = own() % order.size();
        for (std::size_t i = 0; i < order.size(); ++i) {
          if (i == between) rank.run_blocking(host.world(), 100 + turn);
          ASSERT_TRUE(calls[order[i]].is_taken());
          rank.start(&calls[order[i]]);
        }
        for (const Made& made : calls) rank.wait(made);
      }
      calls.clear();
    });
  }
}

TEST_F(PersistentTest, OutlivesItsCommunicator) {
  for (const char* nodes : {"", "2x2"}) {
    set_nodes(nodes);
    run_jobs(4, [](Job& job, FakeHost& host, int) {
      PersistentRank rank(job, host);
      host::Comm comm = split(host);
      Made made, never_freed;
      rank.prepare(&made, comm, 1, 100);
      rank.prepare(&never_freed, comm, 3, 100);
      job.parts().communicators.end_calls(comm);
      host.comm_free(&comm);
      for (int turn = 0; turn < 3; ++turn) {
        rank.start(&made);
        rank.start(&never_freed);
        rank.wait(made);
        rank.wait(never_freed);
      }
      made.prepared.call.reset();
    });
  }
}

// Some ranks keep theirs for long: room is given back by each, and taken by all.
TEST_F(PersistentTest, GivesItsRoomBack) {
  for (const char* nodes : {"", "2x2"}) {
    set_nodes(nodes);
    run_jobs(4, [](Job& job, FakeHost& host, int world_rank) {
      PersistentRank rank(job, host);
      std::deque<Made> kept;
      const std::size_t most_kept = static_cast<std::size_t>(world_rank) * 3 + 1;
      for (int i = 0; i < 300; ++i) {
        rank.prepare(&kept.emplace_back(), host.world(), i, 3);
        ASSERT_TRUE(kept.back().is_taken()) << i;
        rank.start(&kept.back());
        rank.wait(kept.back());
        while (kept.size() > most_kept) kept.pop_front();
      }
      kept.clear();
    });
  }
}

TEST_F(PersistentTest, WithoutRoomAllRanksLeaveTheCallToTheHost) {
  options_.pool_bytes = 4 << 20;
  run_jobs(4, [](Job& job, FakeHost& host, int) {
    PersistentRank rank(job, host);
    std::deque<Made> calls;
    std::vector<std::uint64_t> are_taken(200);
    for (int i = 0; i < 200; ++i) {
      rank.prepare(&calls.emplace_back(), host.world(), i, 3);
      are_taken[i] = calls.back().is_taken() ? 1 : 0;
      EXPECT_EQ(calls.back().prepared.host_starts == nullptr, calls.back().is_taken());
    }
    const auto taken = std::ranges::count(are_taken, 1u);
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 200);
    std::vector<std::uint64_t> least = are_taken;
    host.agree(least.data(), 200, host::AgreeOp::min, host.world());
    EXPECT_EQ(least, are_taken);
    // There is room for a communicator, and again for calls when some are gone.
    rank.run_blocking(split(host), 7);
    calls.clear();
    host.barrier(host.world());
    rank.prepare(&calls.emplace_back(), host.world(), 0, 3);
    EXPECT_TRUE(calls.back().is_taken());
    calls.clear();
  });
}

// Of many calls that need messages some find no tags: communicators still do.
TEST_F(PersistentTest, LeavesTagsToCommunicators) {
  set_nodes("4x1");
  run_jobs(4,
           [](Job& job, FakeHost& host, int) {
             PersistentRank rank(job, host);
             std::deque<Made> calls(10);
             for (int i = 0; i < 10; ++i) {
               rank.prepare(&calls[i], host.world(), i, 3);
               EXPECT_EQ(calls[i].is_taken(), i < 4) << i;
             }
             rank.run_blocking(split(host), 7);
             calls.clear();
           },
           {.largest_tag = 8 * 8192 - 1});
}

TEST_F(PersistentTest, WhatOneRankRefusesIsTheHostsOnAll) {
  run_jobs(4, [](Job& job, FakeHost& host, int world_rank) {
    PersistentRank rank(job, host);
    Made first, second;
    if (world_rank == 2) {
      job.parts().persistent.refuse(host.world());
    } else {
      rank.prepare(&first, host.world(), 1, 3);
    }
    EXPECT_FALSE(first.is_taken());
    rank.prepare(&second, host.world(), 2, 3);
    EXPECT_TRUE(second.is_taken());
    rank.start(&second);
    rank.wait(second);
    second.prepared.call.reset();
  });
}

TEST_F(PersistentTest, ThoseInOneOrderShareAPlace) {
  run_jobs(4, [](Job& job, FakeHost& host, int world_rank) {
    PersistentRank rank(job, host);
    host::Comm one = split(host), other = split(host);
    host.set_ordered_persistent(one);
    if (world_rank != 1) host.set_ordered_persistent(other);  // who says so alone is not believed
    std::deque<Made> calls(4);
    for (int i = 0; i < 4; ++i) rank.prepare(&calls[i], i < 2 ? one : other, i, 3);
    for (const Made& made : calls) ASSERT_TRUE(made.is_taken());
    EXPECT_EQ(calls[0].prepared.call->place, calls[1].prepared.call->place);
    EXPECT_NE(calls[2].prepared.call->place, calls[3].prepared.call->place);
    host.comm_free(&one);
    for (int i : {1, 0}) rank.start(&calls[i]);
    for (int i : {world_rank % 2, 1 - world_rank % 2}) rank.start(&calls[2 + i]);
    for (const Made& made : calls) rank.wait(made);
    calls.clear();
  });
}

// The graph is set up when the place is there.
TEST_F(PersistentTest, NeighborsComeIntoAPlaceOfOthers) {
  for (const char* nodes : {"", "2x2"}) {
    options_.nodes = nodes;
    options_.algorithm = *nodes == 0 ? "" : "allreduce:recursive_doubling,neighbor_allgather:bundles";
    run_jobs(4, [](Job& job, FakeHost& host, int world_rank) {
      PersistentRank rank(job, host);
      host.set_ordered_persistent(host.world());
      host.set_neighbors(host.world(), {.kind = host::TopologyNeighbors::Kind::graph,
                                        .sources = {(world_rank + 3) % 4},
                                        .destinations = {(world_rank + 1) % 4}});
      Made first, second;
      rank.prepare(&first, host.world(), 1, 3);
      rank.prepare_on_ring(&second, host.world(), 2, 3);
      ASSERT_TRUE(first.is_taken() && second.is_taken());
      EXPECT_EQ(first.prepared.call->place, second.prepared.call->place);
      for (int turn = 0; turn < 2; ++turn) {
        for (Made* made : {&first, &second}) rank.start(made);
        for (Made* made : {&first, &second}) rank.wait(*made);
      }
      first.prepared.call.reset();
      second.prepared.call.reset();
    });
  }
}

// A call that is given back while it is under way ends as others do.
TEST_F(PersistentTest, IsGivenBackWhileUnderWay) {
  run_jobs(4, [](Job& job, FakeHost& host, int) {
    PersistentRank rank(job, host);
    for (int i = 0; i < 50; ++i) {
      Made made;
      rank.prepare(&made, host.world(), i, 300);
      ASSERT_TRUE(made.is_taken());
      rank.start(&made);
      made.prepared.call.reset();
      rank.wait(made);
    }
  });
}

}  // namespace
}  // namespace unisono::runtime::persistent_test
