// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls by agents: where they are forced, and where learning has found them faster.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../agents/fake_agents.h"
#include "learning_program.h"
#include "runtime/communicators/agent_share.h"

namespace unisono::runtime {
namespace {

constexpr const char* all_forced = "allreduce:agents,reduce:agents,bcast:agents,barrier:agents";

class BlockingAgentsTest : public LearningTest {
 protected:
  BlockingAgentsTest() {
    options_.agents = "1";
    options_.agents_deadline = 20;
    options_.algorithm = all_forced;
  }

  // A job over these pretended nodes, each with an agent.
  void begin(int nodes, const std::string& layout) {
    agents_ = std::make_unique<agents::FakeAgents>(nodes);
    options_.agents_job = agents_->job;
    options_.nodes = layout;
  }
  // How many calls of this form went by `algorithm`, by the report.
  int calls_by(const std::string& algorithm, const std::string& form = "blocking") const {
    int calls = 0;
    const Json written = report();
    for (const Json& row : written["classes"]) {
      if (row["algorithm"] == algorithm && row["form"] == form) calls += row["calls"].get<int>();
    }
    return calls;
  }
  // Of the class of the first call, by the report.
  std::string reason() const { return report()["classes"][0]["reason"]; }

  std::unique_ptr<agents::FakeAgents> agents_;
};

const AgentShare* share(Job& job, host::Comm comm) {
  const Communicator* c = job.parts().communicators.find_known(comm);
  return c == nullptr ? nullptr : c->node.blocking_agents.get();
}

int reduced(ReduceOp op, int from, int ranks) {
  int result = from;
  for (int rank = 1; rank < ranks; ++rank) {
    const int next = from + rank;
    result = op == ReduceOp::sum   ? result + next
             : op == ReduceOp::min ? std::min(result, next)
                                   : std::max(result, next);
  }
  return result;
}

// Each operator, from each root, also in place. Returns how many calls that were.
template <class Number>
int reduce_all(Job& job, FakeHost& host, int rank, Operation operation, std::size_t count) {
  const int size = host.comm_size(host.world());
  int calls = 0;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    for (int root = 0; root < (operation == Operation::allreduce ? 1 : size); ++root) {
      for (const bool is_in_place : {false, true}) {
        std::vector<Number> in(count), out(count, Number{77});
        for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<Number>(rank + static_cast<int>(i % 5));
        const bool gets = operation == Operation::allreduce || rank == root;
        Call call = sum_call(host.world(), in.data(), out.data(), count);
        call.operation = operation;
        call.op = fake_host::op(op);
        call.root = root;
        if (is_in_place && gets) {
          out = in;
          call.is_in_place = true;
          call.send_buffer = nullptr;
        }
        int error = host::success;
        EXPECT_EQ(job.collective(call, &error), Outcome::done);
        EXPECT_EQ(error, host::success);
        ++calls;
        for (std::size_t i = 0; gets && i < count; ++i)
          EXPECT_EQ(out[i], static_cast<Number>(reduced(op, static_cast<int>(i % 5), size)));
      }
    }
  }
  return calls;
}

TEST_F(BlockingAgentsTest, reductions_of_each_type) {
  for (const char* layout : {"2x2", "1,3", "2x2/cyclic", "4x1"}) {
    begin(layout[0] == '4' ? 4 : 2, layout);
    std::atomic<int> calls = 0;
    run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
      ASSERT_NE(share(job, host.world()), nullptr);
      int made = 0;
      for (const Operation operation : {Operation::allreduce, Operation::reduce}) {
        for (const std::size_t count : {1U, 9U, 4096U}) {
          made += reduce_all<std::int32_t>(job, host, rank, operation, count);
          made += reduce_all<std::int64_t>(job, host, rank, operation, count);
          made += reduce_all<float>(job, host, rank, operation, count);
          made += reduce_all<double>(job, host, rank, operation, count);
        }
      }
      if (rank == 0) calls = made;
    });
    EXPECT_EQ(calls_by("agents"), calls);
    EXPECT_EQ(reason(), "forced by the option 'algorithm'");
  }
}

// Of each root; nobody leaves a barrier before all have come.
TEST_F(BlockingAgentsTest, broadcasts_and_barriers) {
  begin(2, "2x2");
  std::atomic<int> arrived = 0;
  run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
    for (int root = 0; root < 4; ++root) {
      for (const std::size_t count : {1U, 3000U}) {
        std::vector<std::int64_t> data(count, rank == root ? 100 + root : -1);
        const Call call{.operation = Operation::bcast,
                        .root = root,
                        .comm = host.world(),
                        .send_buffer = data.data(),
                        .recv_buffer = data.data(),
                        .send_count = count,
                        .send_type = type_of<std::int64_t>()};
        int error = host::success;
        ASSERT_EQ(job.collective(call, &error), Outcome::done);
        EXPECT_EQ(error, host::success);
        EXPECT_EQ(data, std::vector<std::int64_t>(count, 100 + root));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(rank == root ? 20 : 0));
      ++arrived;
      int error = host::success;
      ASSERT_EQ(job.collective({.operation = Operation::barrier, .comm = host.world()}, &error),
                Outcome::done);
      EXPECT_GE(arrived, 4 * (root + 1));
    }
  });
  EXPECT_EQ(calls_by("agents"), 4 * 3);
}

// More started calls than the window holds are under way meanwhile, some of which nobody has awaited yet.
TEST_F(BlockingAgentsTest, started_calls_are_under_way_meanwhile) {
  begin(3, "3x2");
  run_jobs(6,
           [](Job& job, FakeHost& host, int number) {
             Rank rank(job, host);
             host::Comm other = split(host, number % 2);
             rank.barrier(other);
             for (int round = 0; round < 10; ++round) {
               constexpr int count = 9;
               std::deque<Started> calls(count);
               for (int i = 0; i < count; ++i) {
                 const host::Comm comm = i % 3 == 0 ? other : host.world();
                 rank.start(&calls[static_cast<std::size_t>(i)],
                            rank.prepare(&calls[static_cast<std::size_t>(i)], comm, i, 1 + 900 * (i % 2)));
                 rank.run_blocking(i % 2 == 0 ? other : host.world(), 100 * round + i);
               }
               for (Started& call : calls) rank.wait(call);
             }
             host.comm_free(&other);
           },
           {.is_thread_multiple = false});
  EXPECT_EQ(calls_by("agents", "non-blocking"), 10 * 9);
  EXPECT_EQ(calls_by("agents"), 10 * 9 + 1);
}

// Of other operators in the same class, and of longer messages.
TEST_F(BlockingAgentsTest, what_they_do_not_serve_goes_otherwise) {
  begin(2, "2x2");
  FakeWorld world(4);
  const host::Op own = world.add_op(
      [](const void* in, void* inout, std::size_t count, host::Datatype) {
        for (std::size_t i = 0; i < count; ++i)
          static_cast<std::int32_t*>(inout)[i] += static_cast<const std::int32_t*>(in)[i];
      },
      true);
  run_jobs(world, [own](Job& job, FakeHost& host, int) {
    for (const std::size_t count : {4U, 20'000U}) {
      for (const bool is_own : {true, false, true, false}) {
        std::vector<std::int32_t> in(count, 1), out(count);
        Call call = sum_call(host.world(), in.data(), out.data(), count);
        if (is_own) call.op = own;
        int error = host::success;
        ASSERT_EQ(job.collective(call, &error), Outcome::done);
        EXPECT_EQ(out, std::vector<std::int32_t>(count, 4));
      }
    }
  });
  EXPECT_EQ(calls_by("agents"), 2);
  int others = 0;
  std::set<std::string> reasons;
  const Json written = report();
  for (const Json& row : written["classes"]) {
    if (row["algorithm"] == "agents") continue;
    others += row["calls"].get<int>();
    reasons.insert(row["reason"].get<std::string>().substr(row["reason"].get<std::string>().find('(')));
  }
  EXPECT_EQ(others, 2 + 4);
  EXPECT_EQ(reasons,
            (std::set<std::string>{
                "(allreduce:agents was forced but does not serve the call: its operator or its type "
                "is none that they compute with)",
                "(allreduce:agents was forced but does not serve the call: it has more than 32 KiB)"}));
}

TEST_F(BlockingAgentsTest, forced_where_there_are_none) {
  const auto expect_refused = [&](const std::string& why) {
    run_jobs(2, [](Job& job, FakeHost& host, int rank) {
      const double in = rank + 0.5;
      double out = 0;
      int error = host::success;
      job.collective(sum_call(host.world(), &in, &out, 1), &error);
    });
    EXPECT_EQ(calls_by("agents"), 0);
    EXPECT_NE(reason().find("(allreduce:agents was forced but " + why + ")"), std::string::npos) << reason();
  };
  options_.agents = "0";
  options_.nodes = "2x1";
  expect_refused("needs agents beside the job (option 'agents'), there are none");
  options_.agents_job = "";
  for (const char* agents : {"1", "thread"}) {
    options_.agents = agents;
    options_.nodes = "";
    expect_refused("needs several nodes, there is 1");
    EXPECT_FALSE(report().contains("agents"));
  }
  options_.agents = "1";
  options_.nodes = "2x1";
  expect_refused("needs agents, and none came to this job");
}

TEST_F(BlockingAgentsTest, a_communicator_inside_a_node_has_no_channel) {
  begin(2, "2x2");
  run_jobs(4, [](Job& job, FakeHost& host, int rank) {
    host::Comm node = split(host, rank / 2);
    Rank(job, host).run_blocking(node, 1);
    EXPECT_EQ(share(job, node), nullptr);
    host.comm_free(&node);
  });
  EXPECT_EQ(calls_by("agents"), 0);
  EXPECT_NE(reason().find("was forced but needs several nodes, there is 1"), std::string::npos) << reason();
}

// Where nobody can choose them there is no channel, and what is checked is none of theirs.
TEST_F(BlockingAgentsTest, nobody_chooses_them_by_rules) {
  for (const char* verify : {"off", "all"}) {
    options_.algorithm = std::string(verify) == "all" ? all_forced : "";
    options_.verify = verify;
    begin(2, "2x1");
    run_jobs(2, [](Job& job, FakeHost& host, int rank) {
      const double in = rank + 0.5;
      double out = 0;
      int error = host::success;
      job.collective(sum_call(host.world(), &in, &out, 1), &error);
      EXPECT_EQ(share(job, host.world()), nullptr);
    });
    EXPECT_EQ(calls_by("agents"), 0);
  }
}

TEST_F(BlockingAgentsTest, reproducible_reductions_are_left) {
  options_.is_reproducible = true;
  begin(2, "2x2");
  run_jobs(4, [](Job& job, FakeHost& host, int) { Rank(job, host).run_blocking(host.world(), 1); });
  EXPECT_EQ(calls_by("agents"), 0);
}

// Communicators beyond half of the places do without, and started calls of all have agents.
TEST_F(BlockingAgentsTest, started_calls_have_the_most_places) {
  begin(2, "2x1");
  run_jobs(2,
           [](Job& job, FakeHost& host, int) {
             std::vector<host::Comm> comms;
             int with_channel = 0;
             for (int i = 0; i < agents::most_channels / 2; ++i) {
               comms.push_back(split(host));
               int error = host::success;
               job.collective({.operation = Operation::barrier, .comm = comms.back()}, &error);
               EXPECT_EQ(error, host::success);
               with_channel += share(job, comms.back()) != nullptr ? 1 : 0;
               EXPECT_NE(job.parts().communicators.find_known(comms.back())->node.agents, nullptr);
             }
             EXPECT_GE(with_channel, agents::most_channels / 8);
             EXPECT_LE(with_channel, agents::most_channels / 4);
             for (host::Comm& comm : comms) host.comm_free(&comm);
           },
           {.is_thread_multiple = false});
}

// All ranks try them at the same calls, and stay with them where all else takes longer by far.
TEST_F(BlockingAgentsTest, learning_tries_them) {
  options_.algorithm = "";
  options_.learn_iterations = 3;
  for (const char* mode : {"star", "auto"}) {
    options_.learn = mode;
    for (const bool are_faster : {false, true}) {
      // It has a budget, which the host's slow calls take up: it need not come to the fast ones.
      if (std::string(mode) == "auto" && are_faster) continue;
      constexpr int size = 4;
      begin(2, "2x2");
      std::vector<std::vector<Outcome>> outcomes(size);
      FakeWorld world(size, {.max_delay = are_faster ? 4'000 : 0});
      run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
        LearningRank me{job, host, rank, size};
        for (int i = 0; i < (are_faster ? 250 : 1000); ++i)
          me.call(Operation::allreduce, 3, true, are_faster ? 1 : 1e-9);
        outcomes[static_cast<std::size_t>(rank)] = me.outcomes;
      });
      for (const auto& of_rank : outcomes) EXPECT_EQ(of_rank, outcomes[0]) << mode;
      const Json learned = report()["learning"][0];
      // A time is there once all ranks have agreed on one.
      bool are_tried = false;
      for (const Json& candidate : learned["candidates"])
        are_tried = are_tried || (candidate["algorithm"] == "agents" && candidate["calls"] > 0);
      EXPECT_EQ(learned["chosen"] == "agents", are_faster) << mode << ": " << learned.dump(1);
      EXPECT_TRUE(are_tried) << mode << ": " << learned.dump(1);
    }
  }
}

// A job that does not learn uses what an earlier one has found: its table says so before the world is set up.
TEST_F(BlockingAgentsTest, what_was_learned_is_used_without_learning) {
  options_.algorithm = "";
  options_.cache = folder_ + "/cache";
  options_.learn_iterations = 3;
  const auto run = [this](const char* mode, int calls, int max_delay) {
    options_.learn = mode;
    begin(2, "2x1");
    FakeWorld world(2, {.max_delay = max_delay});
    run_jobs(world, [calls](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, 2};
      for (int i = 0; i < calls; ++i) me.call(Operation::allreduce, 3, true, 0.01);
    });
  };
  run("star", 250, 4'000);
  ASSERT_EQ(report()["learning"][0]["chosen"], "agents") << report()["learning"][0].dump(1);
  take_for_a_quiet_day();
  run("off", 5, 0);
  EXPECT_EQ(calls_by("agents"), 5) << report()["classes"].dump(1);
  EXPECT_EQ(report()["classes"][0]["source"], "learned");
}

// Where no others come in its place calls end with an error, and do not wait for ever.
TEST_F(BlockingAgentsTest, an_agent_that_ends_ends_the_calls_that_it_had) {
  static constexpr int deadline_s = 2;
  options_.agents_deadline = deadline_s;
  begin(2, "2x1");
  run_jobs(2, [this](Job& job, FakeHost& host, int rank) {
    const double in = rank;
    double out = 0;
    int error = host::success;
    EXPECT_EQ(job.collective(sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
    EXPECT_EQ(error, host::success);
    host.barrier(host.world());
    agents_->must_end = true;
    while (!agents_->has_ended) std::this_thread::yield();
    const double begin_s = now_s();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(job.collective(sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
      EXPECT_EQ(error, host.rank_has_died());
    }
    EXPECT_GE(now_s() - begin_s, deadline_s);
    EXPECT_LT(now_s() - begin_s, deadline_s + 5);
  });
}

}  // namespace
}  // namespace unisono::runtime
