// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block, made by agents beside the job: without threads in the host, and without a look of
// the program's between their start and their end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../agents/fake_agents.h"
#include "base/clock.h"
#include "program.h"
#include "runtime/communicators/agent_share.h"

namespace unisono::runtime {
namespace {

class AgentsTest : public ReportedTest {
 protected:
  AgentsTest() {
    options_.agents = "1";
    options_.agents_deadline = 20;
  }

  // A job over these pretended nodes, each with an agent.
  void begin(int nodes, const std::string& layout, const fake_host::Options& fake = {}) {
    agents_ = std::make_unique<agents::FakeAgents>(nodes, fake);
    options_.agents_job = agents_->job;
    options_.nodes = layout;
  }
  static AgentShare* share(Job& job, host::Comm comm) {
    Communicator* c = job.parts().communicators.find_known(comm);
    return c == nullptr ? nullptr : c->node.agents.get();
  }
  // How many calls agents have made, by the report.
  int calls_by_agents() const {
    int calls = 0;
    const Json written = report();
    for (const Json& row : written["classes"]) {
      if (row["algorithm"] == "agents") calls += row["calls"].get<int>();
    }
    return calls;
  }

  const fake_host::Options single_{.is_thread_multiple = false};
  std::unique_ptr<agents::FakeAgents> agents_;
};

TEST_F(AgentsTest, a_result_is_there_without_a_look_in_between) {
  for (const char* layout : {"2x2", "4x1", "1,3", "2x2/cyclic"}) {
    begin(layout[0] == '4' ? 4 : 2, layout);
    run_jobs(
        4,
        [](Job& job, FakeHost& host, int rank) {
          const double in = rank + 0.5;
          double out = 0;
          End end;
          AgentShare* agents = share(job, host.world());
          ASSERT_NE(agents, nullptr);
          for (std::uint64_t number = 1; number < 10; ++number) {
            end.is_ended = false;
            ASSERT_EQ(job.start(sum_call(host.world(), &in, &out, 1), end.completion()), Outcome::done);
            const double deadline_s = now_s() + 20;
            while (!agents->channel.is_answered(number) && now_s() < deadline_s) std::this_thread::yield();
            EXPECT_TRUE(agents->channel.is_answered(number));
            job.make_progress();
            EXPECT_TRUE(end.is_ended);
            EXPECT_EQ(end.error, host::success);
            EXPECT_EQ(out, 8);
          }
        },
        single_);
    EXPECT_EQ(calls_by_agents(), 9);
  }
}

// More calls than the window holds, of two communicators at once, awaited from the last to the first.
TEST_F(AgentsTest, many_calls_are_under_way) {
  begin(3, "3x2", {.max_delay = 5});
  run_jobs(
      6,
      [](Job& job, FakeHost& host, int number) {
        Rank rank(job, host);
        host::Comm other = split(host, number % 2);
        rank.barrier(other);
        EXPECT_NE(share(job, other), nullptr);
        for (int round = 0; round < 5; ++round) {
          constexpr int count = 20;
          std::deque<Started> calls(count);
          for (int i = 0; i < count; ++i)
            rank.start(&calls[i],
                       rank.prepare(&calls[i], i % 3 == 0 ? other : host.world(), i, i % 2 == 0 ? 1 : 3000));
          for (int i = count; i-- > 0;) rank.wait(calls[i]);
        }
        EXPECT_EQ(job.parts().progress.under_way(), 0);
        host.comm_free(&other);
      },
      single_);
  EXPECT_EQ(calls_by_agents(), 5 * 20);
  // Each call once: 13 of a round on all ranks, 7 on either half of them.
  const Json said = report()["agents"];
  EXPECT_EQ(said["started_again"], 0);
  int calls = 0;
  for (const Json& row : said["calls"]) {
    EXPECT_EQ(row["carrier"], "mpi");
    calls += row["calls"].get<int>();
  }
  EXPECT_EQ(calls, 5 * (13 + 2 * 7));
}

template <class Number>
void reduce_all(Job& job, FakeHost& host, int rank, Operation operation, std::size_t count,
                bool is_in_place) {
  const int size = host.comm_size(host.world());
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    for (int root = 0; root < size; ++root) {
      std::vector<Number> in(count), out(count, Number{77});
      for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<Number>(rank * 3 + static_cast<int>(i % 5));
      const bool gets = operation == Operation::allreduce || rank == root;
      Call call = sum_call(host.world(), in.data(), out.data(), count);
      call.operation = operation;
      call.op = fake_host::op(op);
      call.root = operation == Operation::allreduce ? 0 : root;
      if (is_in_place && gets) {
        out = in;
        call.is_in_place = true;
        call.send_buffer = nullptr;
      }
      int error = host::success;
      ASSERT_EQ(start_and_wait(job, call, &error), Outcome::done);
      EXPECT_EQ(error, host::success);
      for (std::size_t i = 0; gets && i < count; ++i) {
        const int low = static_cast<int>(i % 5), high = (size - 1) * 3 + low;
        const int sum = 3 * size * (size - 1) / 2 + size * low;
        ASSERT_EQ(out[i], static_cast<Number>(op == ReduceOp::sum ? sum : op == ReduceOp::min ? low : high));
      }
      if (operation == Operation::allreduce) break;
    }
  }
}

TEST_F(AgentsTest, reductions_of_each_type) {
  for (const char* layout : {"2x2", "1,3", "2x2/cyclic"}) {
    begin(2, layout);
    run_jobs(
        4,
        [](Job& job, FakeHost& host, int rank) {
          for (const Operation operation : {Operation::allreduce, Operation::reduce}) {
            for (const std::size_t count : {1U, 9U, 2000U}) {
              for (const bool is_in_place : {false, true}) {
                reduce_all<std::int32_t>(job, host, rank, operation, count, is_in_place);
                reduce_all<std::int64_t>(job, host, rank, operation, count, is_in_place);
                reduce_all<float>(job, host, rank, operation, count, is_in_place);
                reduce_all<double>(job, host, rank, operation, count, is_in_place);
              }
            }
          }
        },
        single_);
    EXPECT_EQ(calls_by_agents(), 360);
  }
}

TEST_F(AgentsTest, bitwise_and_logical_operators) {
  begin(2, "2x2");
  run_jobs(
      4,
      [](Job& job, FakeHost& host, int rank) {
        const auto joined = [&](ReduceOp op, std::int32_t in) {
          std::int32_t out = -1;
          Call call = sum_call(host.world(), &in, &out, 1);
          call.op = fake_host::op(op);
          int error = host::success;
          EXPECT_EQ(start_and_wait(job, call, &error), Outcome::done);
          return out;
        };
        EXPECT_EQ(joined(ReduceOp::bor, 1 << rank), 15);
        EXPECT_EQ(joined(ReduceOp::band, 15 - (1 << rank)), 0);
        EXPECT_EQ(joined(ReduceOp::bxor, 1 << rank / 2), 0);
        EXPECT_EQ(joined(ReduceOp::land, rank), 0);
        EXPECT_EQ(joined(ReduceOp::lor, rank), 1);
        EXPECT_EQ(joined(ReduceOp::lxor, rank == 1 ? 1 : 0), 1);
      },
      single_);
  EXPECT_EQ(calls_by_agents(), 6);
}

// Of any datatype, from every root.
TEST_F(AgentsTest, broadcasts_and_barriers) {
  begin(2, "2x2");
  FakeWorld world(4, single_);
  const host::Datatype gapped = world.gapped_int32();
  run_jobs(world, [gapped](Job& job, FakeHost& host, int rank) {
    for (int root = 0; root < 4; ++root) {
      std::vector<std::int32_t> data(40, -1);
      for (std::size_t i = 0; rank == root && i < data.size(); ++i)
        data[i] = root * 100 + static_cast<int>(i);
      const Call call{.operation = Operation::bcast,
                      .root = root,
                      .comm = host.world(),
                      .send_buffer = data.data(),
                      .recv_buffer = data.data(),
                      .send_count = 10,
                      .send_type = gapped};
      int error = host::success;
      ASSERT_EQ(start_and_wait(job, call, &error), Outcome::done);
      EXPECT_EQ(error, host::success);
      for (std::size_t i = 0; i < data.size(); ++i)
        EXPECT_EQ(data[i], rank == root || i % 2 == 0 ? root * 100 + static_cast<int>(i) : -1);
    }
    std::atomic<int> error = 0;
    End first, second;
    ASSERT_EQ(job.start({.operation = Operation::barrier, .comm = host.world()}, first.completion()),
              Outcome::done);
    first.wait(job);
    // Nobody is through before all have come.
    if (rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      host.barrier(host.world());
    }
    if (rank != 0) {
      ASSERT_EQ(job.start({.operation = Operation::barrier, .comm = host.world()}, second.completion()),
                Outcome::done);
      job.make_progress();
      EXPECT_FALSE(second.is_ended);
      host.barrier(host.world());
      second.wait(job);
    } else {
      ASSERT_EQ(job.start({.operation = Operation::barrier, .comm = host.world()}, second.completion()),
                Outcome::done);
      second.wait(job);
    }
  });
  EXPECT_EQ(calls_by_agents(), 4 + 2);
}

TEST_F(AgentsTest, what_agents_do_not_serve_goes_as_before) {
  begin(2, "2x2");
  FakeWorld world(4, single_);
  const host::Op own = world.add_op(
      [](const void* in, void* inout, std::size_t count, host::Datatype) {
        for (std::size_t i = 0; i < count; ++i)
          static_cast<std::int32_t*>(inout)[i] += static_cast<const std::int32_t*>(in)[i];
      },
      true);
  run_jobs(world, [own](Job& job, FakeHost& host, int) {
    std::vector<std::int32_t> in(20'000, 1), out(20'000);
    Call call = sum_call(host.world(), in.data(), out.data(), in.size());
    int error = host::success;
    EXPECT_EQ(start_and_wait(job, call, &error), Outcome::native) << "too long";
    call = sum_call(host.world(), in.data(), out.data(), 4);
    call.op = own;
    EXPECT_EQ(start_and_wait(job, call, &error), Outcome::native) << "the program's operator";
  });
  EXPECT_EQ(calls_by_agents(), 0);
}

// Where one order of operands is wanted, no agent joins them in another.
TEST_F(AgentsTest, reproducible_reductions_are_left) {
  options_.is_reproducible = true;
  begin(2, "2x2");
  run_jobs(4, [](Job& job, FakeHost& host, int rank) {
    const double in = rank;
    double out = 0;
    int error = host::success;
    EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
    EXPECT_EQ(out, 6);
  });
  EXPECT_EQ(calls_by_agents(), 0);
}

TEST_F(AgentsTest, a_job_whose_agents_do_not_come_runs_without) {
  options_.agents_job = agents::new_job();
  options_.nodes = "2x1";
  options_.agents_deadline = 1;
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int rank) {
        EXPECT_EQ(share(job, host.world()), nullptr);
        const double in = rank;
        double out = 0;
        int error = host::success;
        EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::native);
      },
      single_);
  const std::string written = report().dump();
  EXPECT_NE(written.find("the job runs without agents: no agent of this job answers"), std::string::npos)
      << written;
}

// One is there, the other node's is not.
TEST_F(AgentsTest, all_nodes_have_an_agent_or_none_uses_one) {
  begin(1, "2x1");
  options_.agents_deadline = 1;
  run_jobs(
      2, [](Job& job, FakeHost& host, int) { EXPECT_EQ(share(job, host.world()), nullptr); }, single_);
}

TEST_F(AgentsTest, communicators_inside_a_node_and_of_single_ranks_need_none) {
  begin(2, "2x2");
  run_jobs(
      4,
      [](Job& job, FakeHost& host, int rank) {
        host::Comm node = split(host, rank / 2), pairs = split(host, rank % 2);
        Rank(job, host).barrier(node);
        Rank(job, host).barrier(pairs);
        EXPECT_EQ(share(job, node), nullptr);
        EXPECT_NE(share(job, pairs), nullptr);
        host.comm_free(&node);
        host.comm_free(&pairs);
      },
      single_);
}

// Channels are taken again: far more communicators than there are places, one after the other.
TEST_F(AgentsTest, communicators_give_their_channels_back) {
  begin(2, "2x1");
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int) {
        Rank rank(job, host);
        int served = 0;
        for (int i = 0; i < 3 * agents::most_channels; ++i) {
          host::Comm comm = split(host);
          rank.barrier(comm);
          if (share(job, comm) != nullptr) {
            ++served;
            Started call;
            rank.start(&call, rank.prepare(&call, comm, i, 3));
            rank.wait(call);
          }
          host.comm_free(&comm);
        }
        EXPECT_EQ(served, 3 * agents::most_channels);
      },
      single_);
}

// Where no others come in its place calls end with an error, and do not wait for ever.
TEST_F(AgentsTest, an_agent_that_ends_ends_the_calls_that_it_had) {
  static constexpr int deadline_s = 2;
  options_.agents_deadline = deadline_s;
  begin(2, "2x1");
  run_jobs(
      2,
      [this](Job& job, FakeHost& host, int rank) {
        const double in = rank;
        double out = 0;
        int error = host::success;
        EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
        host.barrier(host.world());
        agents_->must_end = true;
        while (!agents_->has_ended) std::this_thread::yield();
        const double begin_s = now_s();
        EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
        EXPECT_EQ(error, host.rank_has_died());
        const double waited_s = now_s() - begin_s;
        EXPECT_GE(waited_s, deadline_s);
        EXPECT_LT(waited_s, deadline_s + 5);
      },
      single_);
}

// They are on none of the job's hosts, and ranks say by which name theirs goes.
TEST_F(AgentsTest, hosts_that_are_not_the_jobs) {
  options_.agents_deadline = 1;
  options_.nodes = "2x1";
  options_.agents_job = agents::new_job();
  for (const char* named : {"", "hosts:another,one.of.them"}) {
    options_.agents_on = named;
    run_jobs(
        2, [](Job& job, FakeHost&, int) { EXPECT_EQ(job.parts().world.agents, nullptr); }, single_);
    const std::string said = report().dump();
    EXPECT_NE(said.find("no agent of this job answers on this node (rank 0 on "), std::string::npos) << said;
    EXPECT_EQ(said.find(", which option agents_on does not name)") != std::string::npos, named[0] != 0);
  }
}

TEST_F(AgentsTest, hosts_where_the_job_has_no_ranks) {
  begin(3, "");
  options_.agents_on = "hosts:another";
  run_jobs(
      1, [](Job& job, FakeHost&, int) { EXPECT_NE(job.parts().world.agents, nullptr); }, single_);
  const std::string said = report().dump();
  EXPECT_NE(said.find("hosts where the job has no ranks, so agents there have no work: another"),
            std::string::npos)
      << said;
}

// By a variable nobody refuses what stands for agents, and has no schedule.
TEST_F(AgentsTest, agents_do_not_go_by_themselves) {
  options_.agents_algorithm = "allreduce:agents";
  begin(2, "2x1");
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int rank) {
        const double in = rank + 0.5;
        double out = 0;
        int error = host::success;
        EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::done);
        EXPECT_EQ(out, 2);
      },
      single_);
  EXPECT_EQ(calls_by_agents(), 1);
  EXPECT_NE(report().dump().find("agents do not go by agents for allreduce"), std::string::npos);
}

// Threads of the nodes' first ranks, and no second job.
class AgentThreadsTest : public AgentsTest {
 protected:
  AgentThreadsTest() { options_.agents = "thread"; }
};

TEST_F(AgentThreadsTest, each_node_has_one_and_calls_go_by_it) {
  for (const char* layout : {"2x2", "4x1", "1,3", "2x2/cyclic"}) {
    options_.nodes = layout;
    run_jobs(4, [](Job& job, FakeHost& host, int rank) {
      const World& world = job.parts().world;
      const int node = world.node_labels[static_cast<std::size_t>(rank)];
      const auto first = std::ranges::find(world.node_labels, node) - world.node_labels.begin();
      ASSERT_NE(share(job, host.world()), nullptr);
      EXPECT_EQ(world.agents->thread() != nullptr, first == rank);
      const double in = rank + 0.5;
      double out = 0;
      End end;
      ASSERT_EQ(job.start(sum_call(host.world(), &in, &out, 1), end.completion()), Outcome::done);
      const double deadline_s = now_s() + 20;
      while (!share(job, host.world())->channel.is_answered(1) && now_s() < deadline_s)
        std::this_thread::yield();
      EXPECT_TRUE(share(job, host.world())->channel.is_answered(1));
      end.wait(job);
      EXPECT_EQ(out, 8);
      reduce_all<std::int64_t>(job, host, rank, Operation::reduce, 9, false);
    });
    EXPECT_EQ(calls_by_agents(), 1 + 3 * 4);
  }
}

TEST_F(AgentThreadsTest, communicators_come_and_go) {
  options_.nodes = "2x2";
  run_jobs(4, [](Job& job, FakeHost& host, int number) {
    Rank rank(job, host);
    for (int i = 0; i < 2 * agents::most_channels; ++i) {
      host::Comm comm = split(host, number % 2);
      rank.barrier(comm);
      EXPECT_NE(share(job, comm), nullptr);
      Started call;
      rank.start(&call, rank.prepare(&call, comm, i, 3));
      rank.wait(call);
      host.comm_free(&comm);
    }
  });
}

TEST_F(AgentThreadsTest, an_mpi_for_one_thread_has_none) {
  options_.nodes = "2x1";
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int rank) {
        EXPECT_EQ(job.parts().world.agents, nullptr);
        EXPECT_EQ(share(job, host.world()), nullptr);
        const double in = rank;
        double out = 0;
        int error = host::success;
        EXPECT_EQ(start_and_wait(job, sum_call(host.world(), &in, &out, 1), &error), Outcome::native);
      },
      single_);
  EXPECT_NE(report().dump().find("runs without agents: their threads need MPI_THREAD_MULTIPLE"),
            std::string::npos);
}

TEST_F(AgentThreadsTest, cores_that_are_not_there) {
  options_.nodes = "2x1";
  options_.agents_on = "cores:1000";
  const double begin_s = now_s();
  run_jobs(2, [](Job& job, FakeHost&, int) { EXPECT_EQ(job.parts().world.agents, nullptr); });
  EXPECT_LT(now_s() - begin_s, 10);
  EXPECT_NE(report().dump().find("an agent cannot run on cores 1000 of its node"), std::string::npos);
}

TEST_F(AgentThreadsTest, hosts_are_those_of_their_ranks) {
  options_.nodes = "2x1";
  options_.agents_on = "hosts:another";
  run_jobs(2, [](Job& job, FakeHost&, int) { EXPECT_EQ(job.parts().world.agents, nullptr); });
  EXPECT_NE(report().dump().find("agents that are threads run on those of their ranks"), std::string::npos);
}

}  // namespace
}  // namespace unisono::runtime
