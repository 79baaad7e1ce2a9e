// SPDX-License-Identifier: BSD-3-Clause
// Programs that use the node's shared memory, alone and together with messages, over the fake host.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

std::int64_t value(int rank, std::int64_t i) {
  return rank * 1000 + i;
}
Values values(int rank, std::int64_t count) {
  Values made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(value(rank, i));
  return made;
}

std::vector<host::fake::Options> hosts() {
  return {{}, {.is_synchronous = true, .seed = 3, .max_delay = 8}, {.seed = 4, .max_delay = 30}};
}

Call bcast_call(int root, std::int64_t elements, const Build& build) {
  return {
      .operation = Operation::bcast,
      .root = root,
      .elements = elements,
      .build = build,
      .fill = [=](int rank, Values*,
                  Values* output) { *output = rank == root ? values(root, elements) : Values(elements, -1); },
      .check = [=](int, const Values& output) { EXPECT_EQ(output, values(root, elements)); }};
}

Call allreduce_call(int size, std::int64_t elements, const Build& build, bool is_in_place = false) {
  return {
      .operation = Operation::allreduce,
      .is_in_place = is_in_place,
      .elements = elements,
      .build = build,
      .combine = {.call = join_runs, .element_bytes = 8},
      .fill =
          [=](int rank, Values* input, Values* output) {
            (is_in_place ? *output : *input).assign(elements, run_of(rank, rank));
            output->resize(elements, -1);
          },
      .check = [=](int, const Values& output) { EXPECT_EQ(output, Values(elements, run_of(0, size - 1))); }};
}

Call allgather_call(int size, std::int64_t elements, const Build& build, bool is_in_place = false) {
  return {.operation = Operation::allgather,
          .is_in_place = is_in_place,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values* input, Values* output) {
                output->assign(elements * size, -1);
                if (!is_in_place) *input = values(rank, elements);
                const Values own = values(rank, elements);
                if (is_in_place) std::copy(own.begin(), own.end(), output->begin() + rank * elements);
              },
          .check =
              [=](int, const Values& output) {
                for (int rank = 0; rank < size; ++rank) {
                  for (std::int64_t i = 0; i < elements; ++i) {
                    EXPECT_EQ(output[rank * elements + i], value(rank, i));
                  }
                }
              }};
}

struct Shape {
  std::int64_t segment_bytes;
  int buffers;
  SharedMode mode;
};
const Shape shapes[] = {{0, 2, SharedMode::common},
                        {8, 3, SharedMode::own},
                        {40, 2, SharedMode::common},
                        {24, 1, SharedMode::own},
                        {64, 8, SharedMode::common}};

Stage channel_stage(const Shape& shape, int ticks) {
  return {.rounds = 1,
          .write = {},
          .segment_bytes = shape.segment_bytes,
          .shared = shape.mode,
          .ticks = ticks,
          .buffers = shape.buffers};
}

// The local root writes each piece, the others read it.
Stage node_bcast(const Shape& shape, int local_rank, int local_root) {
  Stage stage = channel_stage(shape, 1);
  const int owner = shape.mode == SharedMode::own ? local_root : 0;
  stage.write = [=](int, Writer& writer) {
    const Ref data = whole(Place::output);
    if (local_rank == local_root) {
      writer.await_space();
      writer.copy(data.in_slot_of(owner), data);
      writer.signal(1);
    } else {
      writer.await(local_root, 1);
      writer.copy(data, data.in_slot_of(owner));
    }
  };
  return stage;
}

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
    run_calls(on(patterns::Layout::one_node(size)), calls);
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

Stage fused_stage(const std::function<void(Writer&)>& write) {
  return {.rounds = 1, .write = [=](int, Writer& writer) { write(writer); }};
}

TEST(ExecutorNode, FusedSteps) {
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

TEST(ExecutorNode, FusedStepsAroundMessages) {
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

TEST(ExecutorNode, BarrierOfFlagsAndTokens) {
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

// The root's buffer is read in place by the others. What it has received before must be there when they read,
// and it must not write there again before they have read.
Program single_copy_bcast(const Problem& problem, const Shape& shape) {
  const int last = problem.size - 1;
  Stage first{.rounds = 1, .write = {}, .segment_bytes = 16};
  first.write = [=](int, Writer& writer) {
    if (problem.rank == last) writer.send(whole(Place::output), 0);
    if (problem.rank == 0) writer.recv(whole(Place::output), last);
  };
  Stage stage = channel_stage(shape, 2);
  stage.write = [=](int, Writer& writer) {
    const Ref data = whole(Place::output);
    if (problem.rank == 0) {
      writer.await_space();
      writer.expose();
      writer.signal(1);
      writer.signal(2);
      writer.await_all(2);
      return;
    }
    Ref theirs = data.in(Place::remote_output);
    theirs.owner = 0;
    writer.await(0, 1);
    if (problem.rank != last) writer.copy(data, theirs);
    writer.signal(2);
  };
  Stage after{.rounds = 1, .write = {}};
  after.write = [=](int, Writer& writer) {
    if (problem.rank == 0) writer.reduce(whole(Place::output), whole(Place::output), whole(Place::output));
  };
  return {.stages = {first, stage, after}};
}

TEST(ExecutorNode, SingleCopyWaitsForWritersAndReaders) {
  for (const auto& host : hosts()) {
    constexpr int size = 4;
    std::vector<Call> calls;
    for (const std::int64_t count : {0, 1, 300}) {
      for (const Shape& shape : shapes) {
        Call call = bcast_call(size - 1, count,
                               [=](const Problem& problem) { return single_copy_bcast(problem, shape); });
        call.check = [=](int rank, const Values& output) {
          for (std::int64_t i = 0; i < count; ++i) {
            EXPECT_EQ(output[i], value(size - 1, i) * (rank == 0 ? 2 : 1));
          }
        };
        calls.push_back(call);
      }
    }
    run_calls(on(patterns::Layout::one_node(size), host), calls);
  }
}

// Operands out of other ranks' buffers, also where those are in place.
Program single_copy_allreduce(const Problem& problem) {
  Stage stage = channel_stage({0, 2, SharedMode::own}, 2);
  stage.write = [=](int, Writer& writer) {
    const auto theirs = [](int owner) {
      Ref ref = whole(Place::remote_input);
      ref.owner = owner;
      return ref;
    };
    writer.await_space();
    writer.expose();
    writer.signal(1);
    writer.await_all(1);
    writer.copy(whole(Place::scratch), theirs(0));
    for (int rank = 1; rank < problem.size; ++rank) {
      writer.reduce(whole(Place::scratch), whole(Place::scratch), theirs(rank));
    }
    writer.signal(2);
    writer.await_all(2);
    writer.copy(whole(Place::output), whole(Place::scratch));
  };
  return {.stages = {stage}, .scratch = 1};
}

TEST(ExecutorNode, ReducesOutOfOtherRanksBuffers) {
  for (const int size : {1, 3}) {
    std::vector<Call> calls;
    // A lane is shorter than the last vector, which is read in several parts as well.
    for (const std::int64_t count : {0, 1, 100, 20000}) {
      calls.push_back(allreduce_call(size, count, single_copy_allreduce));
      calls.push_back(allreduce_call(size, count, single_copy_allreduce, true));
    }
    run_calls(on(patterns::Layout::one_node(size), {}, 1 << 19), calls);
  }
}

// Blocks of others in place of MPI: what they call their input lies in their output.
Program single_copy_allgather(const Problem& problem) {
  Stage stage = channel_stage({32, 2, SharedMode::own}, 2);
  stage.write = [=](int, Writer& writer) {
    writer.await_space();
    writer.expose();
    writer.signal(1);
    for (int rank = 0; rank < problem.size; ++rank) {
      Ref theirs = block(Place::remote_input, 0);
      theirs.owner = rank;
      writer.await(rank, 1);
      if (rank == problem.rank) writer.copy(block(Place::output, rank), block(Place::input, 0));
      if (rank != problem.rank) writer.copy(block(Place::output, rank), theirs);
    }
    writer.signal(2);
    writer.await_all(2);
  };
  return {.stages = {stage}};
}

TEST(ExecutorNode, SingleCopyFindsBlocksInPlace) {
  constexpr int size = 3;
  std::vector<Call> calls;
  for (const std::int64_t count : {0, 1, 50}) {
    for (const bool is_in_place : {true, false}) {
      calls.push_back(allgather_call(size, count, single_copy_allgather, is_in_place));
    }
  }
  run_calls(on(patterns::Layout::one_node(size)), calls);
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
