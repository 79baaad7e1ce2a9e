// SPDX-License-Identifier: BSD-3-Clause
// Programs with fused steps, and barriers of all kinds.
#include <gtest/gtest.h>

#include <atomic>

#include "node_programs.h"

namespace unisono::schedule {
namespace {

Stage fused_stage(const std::function<void(Writer&)>& write) {
  return {.rounds = 1, .write = [=](int, Writer& writer) { write(writer); }};
}

TEST(ExecutorFused, FusedSteps) {
  constexpr int size = 4;
  std::vector<Call> calls;
  std::atomic<int> arrived{0};
  int barriers = 0;
  for (const std::int64_t count : {1, 0, 3, 40}) {
    calls.push_back(bcast_call(2, count, [](const Problem&) {
      return Program{.stages = {fused_stage([](Writer& w) { w.node_bcast(whole(Place::output), 2); })}};
    }));
    for (const bool is_in_place : {false, true}) {
      calls.push_back(allreduce_call(
          size, count,
          [](const Problem&) {
            return Program{.stages = {fused_stage([](Writer& w) {
                             w.node_allreduce(whole(Place::output), whole(Place::input));
                           })}};
          },
          is_in_place));
      calls.push_back(allgather_call(
          size, count,
          [](const Problem&) {
            return Program{.stages = {fused_stage([](Writer& w) {
                             w.node_allgather(blocks(Place::output, 0, size), block(Place::input, 0));
                           })}};
          },
          is_in_place));
    }
    calls.push_back(gather_call(size, 3, count, [](const Problem&) {
      return Program{.stages = {fused_stage([](Writer& w) {
                       w.node_gather(blocks(Place::output, 0, size), block(Place::input, 0), 3);
                     })}};
    }));
    calls.push_back(scatter_call(size, 1, count, [](const Problem&) {
      return Program{.stages = {fused_stage([](Writer& w) {
                       w.node_scatter(block(Place::output, 0), blocks(Place::input, 0, size), 1);
                     })}};
    }));
    calls.push_back(alltoall_call(size, count, [](const Problem&) {
      return Program{.stages = {fused_stage([](Writer& w) {
                       w.node_alltoall(blocks(Place::output, 0, size), blocks(Place::input, 0, size));
                     })}};
    }));
    // Two fused steps of which one needs the other's result, and a copy.
    calls.push_back(allreduce_call(size, count, [](const Problem&) {
      return Program{.stages = {fused_stage([](Writer& w) {
                       w.node_reduce(whole(Place::scratch), whole(Place::input), 1);
                       w.node_bcast(whole(Place::scratch), 1);
                       w.copy(whole(Place::output), whole(Place::scratch));
                     })},
                     .scratch = 1};
    }));
    const int number = ++barriers;
    calls.push_back({.operation = Operation::barrier,
                     .build =
                         [](const Problem&) {
                           return Program{.stages = {fused_stage([](Writer& w) { w.node_barrier(); })}};
                         },
                     .fill = [&](int, Values*, Values*) { ++arrived; },
                     .check = [&, number](int, const Values&) { EXPECT_GE(arrived.load(), number * size); }});
  }
  run_calls(on(patterns::Layout::one_node(size)), calls);
}

// Reduced on the node, between two leaders, and spread again: fused steps wait for messages and the reverse.
Program fused_two_level_allreduce(const Problem& problem) {
  const patterns::Layout& layout = *problem.layout;
  const int node = layout.node_of[problem.rank];
  const bool is_leader = layout.local_rank_of[problem.rank] == 0;
  const int other_leader = layout.ranks_of[1 - node][0];
  Stage stage{.rounds = 3, .write = {}};
  stage.write = [=](int round, Writer& writer) {
    const Ref result = whole(Place::output), other = whole(Place::scratch);
    if (round == 0) writer.node_reduce(result, whole(Place::input), 0);
    if (round == 1 && is_leader) {
      writer.send(result, other_leader);
      writer.recv(other, other_leader);
      writer.reduce(result, node == 0 ? result : other, node == 0 ? other : result);
    }
    if (round == 2) writer.node_bcast(result, 0);
  };
  return {.stages = {stage}, .scratch = 1};
}

TEST(ExecutorFused, FusedStepsAroundMessages) {
  for (const auto& host : hosts()) {
    const patterns::Layout nodes = *patterns::Layout::parse("3,2");
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 30, 5}) {
      calls.push_back(allreduce_call(5, count, fused_two_level_allreduce));
      calls.push_back(allreduce_call(5, count, fused_two_level_allreduce, true));
    }
    run_calls(on(nodes, host), calls);
  }
}

// A barrier of both kinds: flags on the node, tokens between the leaders.
Program two_level_barrier(const Problem& problem, bool is_fused) {
  const patterns::Layout& layout = *problem.layout;
  const int node = layout.node_of[problem.rank];
  const bool is_leader = layout.local_rank_of[problem.rank] == 0;
  const int other_leader = layout.ranks_of[1 - node][0];
  Stage stage{.rounds = 3, .write = {}, .shared = SharedMode::own, .ticks = 2};
  stage.write = [=](int round, Writer& writer) {
    if (is_fused && round != 1) writer.node_barrier();
    if (!is_fused && round == 0) writer.signal(1);
    if (!is_fused && round == 0 && is_leader) writer.await_all(1);
    if (round == 1 && is_leader) {
      writer.send(token(), other_leader);
      writer.recv(token(), other_leader);
    }
    if (!is_fused && round == 2 && is_leader) writer.signal(2);
    if (!is_fused && round == 2 && !is_leader) writer.await(0, 2);
  };
  return {.stages = {stage}};
}

TEST(ExecutorFused, BarrierOfFlagsAndTokens) {
  for (const auto& host : hosts()) {
    for (const bool is_fused : {false, true}) {
      const patterns::Layout nodes = *patterns::Layout::parse("3,2/cyclic");
      constexpr int times = 30;
      std::atomic<int> arrived{0};
      std::vector<Call> calls(times);
      for (int i = 0; i < times; ++i) {
        calls[i] = {.operation = Operation::barrier,
                    .build = [=](const Problem& problem) { return two_level_barrier(problem, is_fused); },
                    .fill = [&](int, Values*, Values*) { ++arrived; },
                    .check = [&, i](int, const Values&) { EXPECT_GE(arrived.load(), (i + 1) * 5); }};
      }
      run_calls(on(nodes, host), calls);
    }
  }
}

}  // namespace
}  // namespace unisono::schedule
