// SPDX-License-Identifier: BSD-3-Clause
// Programs that use the node's channels, alone and together with messages.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "node_programs.h"

namespace unisono::schedule {
namespace {

TEST(ExecutorNode, BcastThroughAChannelWithAnyGeometry) {
  for (const int size : {1, 2, 5}) {
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 2, 61, 700, 61}) {
      for (const Shape& shape : shapes) {
        const int root = size - 1;
        calls.push_back(bcast_call(root, count, [=](const Problem& problem) {
          return Program{.stages = {node_bcast(shape, problem.rank, root)}};
        }));
      }
    }
    run_calls(on(patterns::Layout::one_node(size)), calls);
  }
}

// Where ranks sleep for each other, those who wait for a piece do, and its writer wakes them.
TEST(ExecutorNode, ReadersOfALateRootSleepAndAreWoken) {
  std::vector<Call> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(bcast_call(0, 61, [](const Problem& problem) {
      return Program{.stages = {node_bcast(shapes[0], problem.rank, 0)}};
    }));
    calls.back().fill = [fill = calls.back().fill](int rank, Values* input, Values* output) {
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      fill(rank, input, output);
    };
  }
  std::uint32_t rings = 0;
  Ranks ranks = on(patterns::Layout::one_node(3));
  ranks.policy = shm::WaitPolicy::sleep;
  ranks.rings = &rings;
  run_calls(ranks, calls);
  EXPECT_GT(rings, 0U);
}

// Everybody puts its vector into a lane, joins its part of every piece, and takes the whole.
Program lanes_allreduce(const Problem& problem, const Shape& shape) {
  const int size = problem.size, rank = problem.rank;
  Stage stage = channel_stage({shape.segment_bytes, shape.buffers, SharedMode::common}, 3);
  stage.lanes = size;
  stage.write = [=](int, Writer& writer) {
    const Ref data = whole(Place::output);
    const Ref own = data.sub(rank, size);
    writer.await_space();
    writer.copy(data.in_slot_of(0, rank), whole(Place::input));
    writer.signal(1);
    writer.await_all(1);
    if (size == 1) writer.copy(own, own.in_slot_of(0));
    for (int lane = 1; lane < size; ++lane) {
      writer.reduce(own, lane == 1 ? own.in_slot_of(0) : own, own.in_slot_of(0, lane));
    }
    writer.copy(own.in_slot_of(0), own);
    writer.signal(2);
    writer.await_all(2);
    writer.copy(data, data.in_slot_of(0));
  };
  return {.stages = {stage}};
}

TEST(ExecutorNode, AllreduceInLanesAndParts) {
  for (const int size : {1, 2, 5}) {
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 2, 61, 300}) {
      for (const Shape& shape : shapes) {
        for (const bool is_in_place : {false, true}) {
          calls.push_back(allreduce_call(
              size, count, [=](const Problem& problem) { return lanes_allreduce(problem, shape); },
              is_in_place));
        }
      }
    }
    for (const shm::WaitPolicy policy : {shm::WaitPolicy::yield, shm::WaitPolicy::sleep}) {
      Ranks ranks = on(patterns::Layout::one_node(size));
      ranks.policy = policy;
      run_calls(ranks, calls);
    }
  }
}

// Leaders in a chain, each node's bcast beside it, cut differently.
Program two_level_bcast(const Problem& problem, std::int64_t inter_segment_bytes, const Shape& shape) {
  const patterns::Layout& layout = *problem.layout;
  const int node = layout.node_of[problem.rank], local_rank = layout.local_rank_of[problem.rank];
  Stage inter{.rounds = layout.nodes(), .write = {}, .segment_bytes = inter_segment_bytes};
  inter.write = [=, ranks_of = layout.ranks_of](int round, Writer& writer) {
    if (local_rank != 0) return;
    if (round == node - 1) writer.recv(whole(Place::output), ranks_of[node - 1][0]);
    if (round == node && node + 1 < static_cast<int>(ranks_of.size())) {
      writer.send(whole(Place::output), ranks_of[node + 1][0]);
    }
  };
  return {.stages = {inter, node_bcast(shape, local_rank, 0)}};
}

TEST(ExecutorNode, TwoLevelPipelinesWithDifferentPieces) {
  for (const auto& host : hosts()) {
    for (const char* layout : {"2x3", "3,1,4", "3x2/cyclic", "1,1"}) {
      const patterns::Layout nodes = *patterns::Layout::parse(layout);
      std::vector<Call> calls;
      for (const std::int64_t count : {0, 1, 7, 300}) {
        for (const Shape& shape : shapes) {
          for (const std::int64_t segment_bytes : {0, 24, 56}) {
            calls.push_back(bcast_call(0, count, [=](const Problem& problem) {
              return two_level_bcast(problem, segment_bytes, shape);
            }));
          }
        }
      }
      run_calls(on(nodes, host), calls);
    }
  }
}

// Messages straight into the slot, on from there, and out of it to the local ranks.
Program bcast_through_slots(const Problem& problem, const Shape& shape) {
  const patterns::Layout& layout = *problem.layout;
  const int node = layout.node_of[problem.rank], local_rank = layout.local_rank_of[problem.rank];
  const Ref data = whole(Place::output);
  Stage stage = channel_stage(shape, 1);
  stage.rounds = 3;
  stage.write = [=, ranks_of = layout.ranks_of](int round, Writer& writer) {
    const Ref slot = data.in_slot_of(0);
    const bool is_last_node = node + 1 == static_cast<int>(ranks_of.size());
    if (local_rank == 0) {
      if (round == 0) writer.await_space();
      if (round == 0 && node == 0) writer.copy(slot, data);
      if (round == node - 1) writer.recv(slot, ranks_of[node - 1][0]);
      if (round == node && !is_last_node) writer.send(slot, ranks_of[node + 1][0]);
      if (round == 2 && node != 0) writer.copy(data, slot);
      if (round == 2) writer.signal(1);
    } else if (round == 2) {
      writer.await(0, 1);
      writer.copy(data, slot);
    }
  };
  return {.stages = {stage}};
}

TEST(ExecutorNode, MessagesIntoAndOutOfSlots) {
  for (const auto& host : hosts()) {
    const patterns::Layout nodes = *patterns::Layout::parse("2,2,1");
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 300}) {
      for (const std::int64_t segment_bytes : {8, 40}) {
        calls.push_back(bcast_call(0, count, [=](const Problem& problem) {
          return bcast_through_slots(problem, {segment_bytes, 2, SharedMode::own});
        }));
      }
    }
    run_calls(on(nodes, host), calls);
  }
}

// Ranks with nothing to do in a stage count as having finished it; later calls on the channel go on.
TEST(ExecutorNode, RanksThatStandAside) {
  constexpr int size = 4;
  const auto only_between = [](int root, int reader) {
    return [=](const Problem& problem) {
      Stage stage = node_bcast({16, 2, SharedMode::own}, problem.rank, root);
      if (problem.rank != root && problem.rank != reader) stage.write = [](int, Writer&) {};
      return Program{.stages = {stage}};
    };
  };
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) {
    const int root = i % size, reader = (i + 1 + i / size) % size;
    Call call = bcast_call(root, 40, only_between(root, reader));
    call.check = [=](int rank, const Values& output) {
      EXPECT_EQ(output, rank == root || rank == reader ? values(root, 40) : Values(40, -1));
    };
    calls.push_back(call);
  }
  run_calls(on(patterns::Layout::one_node(size)), calls);
}

// Three channels at once, each with its own pieces.
TEST(ExecutorNode, StagesOnTheirOwnChannels) {
  constexpr int size = 3;
  const auto build = [](const Problem& problem) {
    const auto on = [&](const Shape& shape, int root, int index) {
      Stage stage = node_bcast(shape, problem.rank, root);
      const auto write = stage.write;
      stage.write = [=](int round, Writer& writer) {
        std::vector<Step> steps;
        Writer inner(&steps);
        write(round, inner);
        for (const Step& step : steps) {
          if (step.kind == StepKind::copy && step.into.place == Place::shared) {
            writer.copy(step.into, block(Place::output, index));
          } else if (step.kind == StepKind::copy) {
            writer.copy(block(Place::output, index), step.left);
          } else if (step.kind == StepKind::signal) {
            writer.signal(step.tick);
          } else if (step.kind == StepKind::await) {
            writer.await(step.peer, step.tick);
          } else {
            writer.await_space();
          }
        }
      };
      return stage;
    };
    return Program{
        .stages = {on(shapes[1], 0, 0), on(shapes[2], 1, 1), on(shapes[3], 2, 2)},
    };
  };
  std::vector<Call> calls;
  for (const std::int64_t count : {0, 1, 90}) {
    calls.push_back({.operation = Operation::allgather,
                     .is_in_place = true,
                     .elements = count,
                     .build = build,
                     .fill =
                         [=](int rank, Values*, Values* output) {
                           output->assign(count * size, -1);
                           const Values own = values(rank, count);
                           std::copy(own.begin(), own.end(), output->begin() + rank * count);
                         },
                     .check =
                         [=](int, const Values& output) {
                           for (std::int64_t i = 0; i < count * size; ++i) {
                             EXPECT_EQ(output[i], value(static_cast<int>(i / count), i % count));
                           }
                         }});
  }
  run_calls(on(patterns::Layout::one_node(size)), calls);
}

}  // namespace
}  // namespace unisono::schedule
