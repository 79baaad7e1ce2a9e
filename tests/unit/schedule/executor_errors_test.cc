// SPDX-License-Identifier: BSD-3-Clause
// A host's error ends the call on the rank that sees it; the executor stays usable.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "rank_of_world.h"
#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

using fake_host::FakeHost;
using fake_host::FakeWorld;

// Ends the world when a rank has seen what it was to see; the others wait for messages that never come.
struct Enough : std::runtime_error {
  Enough() : std::runtime_error("enough") {}
};

class Side : public RankOfWorld {
 public:
  using RankOfWorld::RankOfWorld;
  int run(const Program& program, Values* output) {
    return RankOfWorld::run(*compile(problem_on_node(Operation::bcast, size(), rank()), program),
                            data(output));
  }
  Data data(Values* output) {
    return {
        .output = output->data(), .elements = static_cast<std::int64_t>(output->size()), .element_bytes = 8};
  }
};

Program one_round(const std::function<void(Writer&)>& write, std::int64_t segment_bytes = 0,
                  std::int64_t scratch = 0) {
  Stage stage{.rounds = 1, .write = [=](int, Writer& writer) { write(writer); }};
  stage.segment_bytes = segment_bytes;
  return {.stages = {stage}, .scratch = scratch};
}

TEST(ExecutorErrors, FailedSendEndsTheCallWithItsCode) {
  // The first send, one in the middle of a pipeline, and one that only a received message lets start.
  for (const int failing_isend : {0, 5}) {
    for (const std::int64_t segment_bytes : {0, 16}) {
      if (segment_bytes == 0 && failing_isend > 0) continue;
      fake_host::Options options;
      options.failing_rank = 1;
      options.failing_isend = failing_isend;
      FakeWorld world(3, options);
      const auto body = [&](FakeHost& host, int rank) {
        Side side(host, rank);
        Values output(40, rank == 0 ? 7 : -1);
        const Program chain = one_round(
            [=](Writer& writer) {
              if (rank > 0) writer.recv(whole(Place::output), rank - 1);
              if (rank < 2) writer.send(whole(Place::output), rank + 1);
            },
            segment_bytes);
        const int code = side.run(chain, &output);
        EXPECT_EQ(code, rank == 1 ? options.failing_code : host::success);
        if (rank != 1) return;
        // The next schedule runs as if nothing had been.
        const Program copies = one_round([](Writer& writer) {
          writer.copy(whole(Place::scratch), whole(Place::output));
          writer.copy(whole(Place::output), whole(Place::scratch));
        });
        EXPECT_EQ(side.run(copies, &output), host::success);
        throw Enough();
      };
      EXPECT_THROW(world.run(body), Enough);
    }
  }
}

TEST(ExecutorErrors, TruncatedMessageEndsTheCall) {
  FakeWorld world(2);
  world.run([](FakeHost& host, int rank) {
    Side side(host, rank);
    Values output(rank == 0 ? 10 : 5, rank);
    const Program program = one_round([=](Writer& writer) {
      if (rank == 0) writer.send(whole(Place::output), 1);
      if (rank == 1) writer.recv(whole(Place::output), 0);
    });
    EXPECT_EQ(side.run(program, &output), rank == 0 ? host::success : fake_host::error_truncated);
  });
  EXPECT_EQ(world.leftovers(), "");
}

TEST(ExecutorErrors, LateMessagesFindTheirMemory) {
  fake_host::Options options;
  options.failing_rank = 0;
  FakeWorld world(2, options);
  std::atomic<bool> has_failed{false};
  world.run([&](FakeHost& host, int rank) {
    Side side(host, rank);
    Values output(1000, rank);
    if (rank == 0) {
      const Program program = one_round(
          [](Writer& writer) {
            writer.recv(whole(Place::scratch), 1);
            writer.send(whole(Place::output), 1);
          },
          0, 1);
      EXPECT_EQ(side.run(program, &output), options.failing_code);
      has_failed = true;
      const Program more_scratch =
          one_round([](Writer& writer) { writer.copy(whole(Place::scratch), whole(Place::output)); }, 0, 1);
      EXPECT_EQ(side.run(more_scratch, &output), host::success);
      // The message comes into the memory of the call that failed; the next call finds that it has ended.
      host.barrier(host.world());
      EXPECT_EQ(side.run(more_scratch, &output), host::success);
    } else {
      while (!has_failed) std::this_thread::yield();
      const Program program = one_round([](Writer& writer) { writer.send(whole(Place::output), 0); });
      EXPECT_EQ(side.run(program, &output), host::success);
      host.barrier(host.world());
    }
  });
  EXPECT_EQ(world.leftovers(), "");
}

// Started, polled among other things, finished: what a non-blocking call will do.
TEST(ExecutorErrors, RunsInParts) {
  FakeWorld world(2);
  world.run([](FakeHost& host, int rank) {
    Side side(host, rank);
    Values output(30, rank);
    const Program program = one_round(
        [=](Writer& writer) {
          if (rank == 0) writer.send(whole(Place::output), 1);
          if (rank == 1) writer.recv(whole(Place::output), 0);
        },
        24);
    const auto compiled = compile(problem_on_node(Operation::bcast, 2, rank), program);
    side.executor().start(*compiled, side.ground(), side.data(&output));
    int polls = 0;
    if (rank == 0) host.barrier(host.world());
    while (!side.executor().poll()) {
      if (rank == 1 && ++polls == 3) host.barrier(host.world());
      std::this_thread::yield();
    }
    EXPECT_EQ(side.executor().finish(), host::success);
    EXPECT_EQ(output, Values(30, 0));
  });
  EXPECT_EQ(world.leftovers(), "");
}

}  // namespace
}  // namespace unisono::schedule
