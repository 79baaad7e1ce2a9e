// SPDX-License-Identifier: BSD-3-Clause
// Programs in which ranks read each other's buffers.
#include <gtest/gtest.h>

#include "node_programs.h"

namespace unisono::schedule {
namespace {

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

TEST(ExecutorSingleCopy, SingleCopyWaitsForWritersAndReaders) {
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

TEST(ExecutorSingleCopy, ReducesOutOfOtherRanksBuffers) {
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

TEST(ExecutorSingleCopy, SingleCopyFindsBlocksInPlace) {
  constexpr int size = 3;
  std::vector<Call> calls;
  for (const std::int64_t count : {0, 1, 50}) {
    for (const bool is_in_place : {true, false}) {
      calls.push_back(allgather_call(size, count, single_copy_allgather, is_in_place));
    }
  }
  run_calls(on(patterns::Layout::one_node(size)), calls);
}

// The kernel allowed it at the start, and refuses now to read some ranks' memory, or all: these copy what is
// asked for.
TEST(ExecutorSingleCopy, OwnersCopyWhatTheKernelRefuses) {
  constexpr int size = 3;
  for (const std::size_t refused : {1, 3}) {
    std::vector<Call> calls;
    // At the end longer than what is asked for at a time.
    for (const std::int64_t count : {1, 300, 5000, 0}) {
      for (const bool is_in_place : {false, true}) {
        calls.push_back(allreduce_call(size, count, single_copy_allreduce, is_in_place));
        calls.push_back(allgather_call(size, count / 8, single_copy_allgather, is_in_place));
      }
      for (const Shape& shape : shapes) {
        Call call = bcast_call(size - 1, count,
                               [=](const Problem& problem) { return single_copy_bcast(problem, shape); });
        call.check = [=](int rank, const Values& output) {
          for (std::int64_t i = 0; i < count; ++i)
            ASSERT_EQ(output[i], value(size - 1, i) * (rank == 0 ? 2 : 1));
        };
        calls.push_back(call);
      }
    }
    Ranks ranks = on(patterns::Layout::one_node(size), {}, 1 << 19);
    ranks.refused = refused;
    run_calls(ranks, calls);
  }
}

}  // namespace
}  // namespace unisono::schedule
