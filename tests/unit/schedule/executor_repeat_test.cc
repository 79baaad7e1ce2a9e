// SPDX-License-Identifier: BSD-3-Clause
// What an executor keeps from one call to the next: the sizes of the last one, where its references lie.
// Calls follow each other that differ in one thing or another, or in nothing.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>

#include "../case_turns.h"
#include "rank_of_world.h"
#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

using fake_host::FakeHost;
using fake_host::FakeWorld;

// What the rank before has is added to what is there, by thirds of the vector.
Program add_previous(const Problem& problem, std::int64_t segment_bytes, int window) {
  const int next = (problem.rank + 1) % problem.size;
  const int previous = (problem.rank + problem.size - 1) % problem.size;
  constexpr int thirds = 3;
  Stage stage{.rounds = thirds, .write = {}, .segment_bytes = segment_bytes, .window = window};
  stage.extent_parts = thirds;
  stage.write = [=](int round, Writer& writer) {
    const Ref input = part(Place::input, round, thirds), other = input.in(Place::scratch);
    writer.send(input, next);
    writer.recv(other, previous);
    writer.reduce(input.in(Place::output), input, other);
  };
  return {.stages = {stage}, .scratch = 1};
}

template <class T>
void add(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<T*>(into)[i] = static_cast<const T*>(left)[i] + static_cast<const T*>(right)[i];
  }
}

// A rank that makes calls, all with one executor.
class Caller : public RankOfWorld {
 public:
  using RankOfWorld::RankOfWorld;
  std::shared_ptr<const Compiled> compile(std::int64_t segment_bytes, int window) const {
    const Problem problem = problem_on_node(Operation::allreduce, size(), rank());
    return schedule::compile(problem, add_previous(problem, segment_bytes, window));
  }
  template <class T>
  void call(const Compiled& compiled, std::size_t count, bool has_output = true) {
    std::vector<T> input(count), output(count, -1), sum(count);
    const auto value = [](int rank, std::size_t i) { return static_cast<T>(rank * 100) + static_cast<T>(i); };
    const int previous = (rank() + size() - 1) % size();
    for (std::size_t i = 0; i < count; ++i) {
      input[i] = value(rank(), i);
      sum[i] = input[i] + value(previous, i);
    }
    const Data data{.input = input.data(),
                    .output = has_output ? output.data() : nullptr,
                    .elements = static_cast<std::int64_t>(count),
                    .element_bytes = sizeof(T),
                    .combine = {.call = add<T>, .element_bytes = sizeof(T)}};
    ASSERT_EQ(run(compiled, data), host::success);
    if (has_output) {
      ASSERT_EQ(output, sum);
    }
  }
};

TEST(ExecutorRepeat, CallsThatDifferInOneThing) {
  for (const std::int64_t segment_bytes : {0, 16}) {
    FakeWorld world(3, {.seed = 1, .max_delay = 3});
    world.run([&](FakeHost& host, int rank) {
      Caller caller(host, rank);
      const auto compiled = caller.compile(segment_bytes, 2), wide = caller.compile(segment_bytes, 4);
      for (int repeat = 0; repeat < 3; ++repeat) {
        caller.call<std::int64_t>(*compiled, 40);
        caller.call<std::int64_t>(*compiled, 40);  // nothing
        caller.call<std::int64_t>(*compiled, 41);  // thirds and pieces that are not equal
        caller.call<std::int64_t>(*compiled, 0);
        caller.call<std::int64_t>(*compiled, 41);
        caller.call<std::int32_t>(*compiled, 41);  // the length of an element
        caller.call<std::int32_t>(*compiled, 41, false);
        caller.call<std::int32_t>(*wide, 41);  // the schedule
        caller.call<std::int32_t>(*wide, 2);   // one piece
        caller.call<std::int32_t>(*wide, 41, false);
      }
    });
    EXPECT_EQ(world.leftovers(), "");
  }
}

// A schedule may lie where one lay that is gone.
TEST(ExecutorRepeat, SchedulesComeAndGo) {
  FakeWorld world(2);
  world.run([](FakeHost& host, int rank) {
    Caller caller(host, rank);
    for (int repeat = 0; repeat < 50; ++repeat) {
      for (const std::int64_t segment_bytes : {0, 8, 24}) {
        caller.call<std::int64_t>(*caller.compile(segment_bytes, 1 + repeat % 3), 17);
      }
    }
  });
}

TEST(ExecutorRepeat, AnyCallsInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    if (!case_turns().has(static_cast<int>(seed) - 1)) continue;
    SCOPED_TRACE(seed);
    FakeWorld world(3, {.eager_limit_bytes = 32, .seed = seed, .max_delay = 5});
    world.run([&](FakeHost& host, int rank) {
      Caller caller(host, rank);
      std::mt19937_64 random(seed);  // all ranks draw the same
      const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
      std::vector<std::shared_ptr<const Compiled>> schedules;
      for (const std::int64_t segment_bytes : {0, 8, 20, 64}) {
        for (const int window : {1, 2, 5}) schedules.push_back(caller.compile(segment_bytes, window));
      }
      std::size_t schedule = 0, count = 1;
      for (int call = 0; call < 200; ++call) {
        if (draw(2) == 0) schedule = draw(schedules.size());
        if (draw(2) == 0) count = draw(70);
        const bool has_output = draw(4) != 0;
        if (draw(3) == 0) {
          caller.call<std::int32_t>(*schedules[schedule], count, has_output);
        } else {
          caller.call<std::int64_t>(*schedules[schedule], count, has_output);
        }
      }
    });
    EXPECT_EQ(world.leftovers(), "");
  }
}

TEST(ExecutorRepeat, TheCallAfterAnErrorIsAsAnyOther) {
  for (const std::int64_t segment_bytes : {0, 16}) {
    FakeWorld world(1, {.failing_rank = 0, .failing_isend = 0});
    world.run([&](FakeHost& host, int rank) {
      Caller caller(host, rank);
      const auto compiled = caller.compile(segment_bytes, 2);
      std::vector<std::int64_t> input(30, 1), output(30);
      const Data data{.input = input.data(),
                      .output = output.data(),
                      .elements = 30,
                      .element_bytes = sizeof(std::int64_t),
                      .combine = {.call = add<std::int64_t>, .element_bytes = sizeof(std::int64_t)}};
      EXPECT_NE(caller.run(*compiled, data), host::success);
      caller.call<std::int64_t>(*compiled, 30);
      caller.call<std::int64_t>(*compiled, 30);
    });
    EXPECT_EQ(world.leftovers(), "");
  }
}

// One schedule that is only fused, with nothing to find out, between others.
TEST(ExecutorRepeat, FusedSchedulesBetweenOthers) {
  const patterns::Layout layout = patterns::Layout::one_node(2);
  const Nodes nodes(layout, 4096);
  FakeWorld world(2);
  world.run([&](FakeHost& host, int rank) {
    const std::vector<int> process_ids(2, 1);
    const auto slice = nodes.slice(host, rank, process_ids);
    std::vector<int> ranks{0, 1};
    const Ground ground{
        .host = &host, .comm = host.world(), .rank_in_comm = ranks.data(), .slice = slice.get()};
    Stage stage{.rounds = 1, .write = {}};
    stage.write = [](int, Writer& writer) {
      writer.node_allreduce(whole(Place::output), whole(Place::input));
    };
    const Problem problem = problem_on_node(Operation::allreduce, 2, rank);
    const auto fused = compile(problem, {.stages = {stage}});
    const auto pieces = compile(problem, add_previous(problem, 16, 2));
    Executor executor;
    for (const std::int64_t count : {9, 9, 4, 9}) {
      for (const Compiled* compiled : {fused.get(), pieces.get()}) {
        Values input(static_cast<std::size_t>(count), rank + 1), output(input.size());
        const Data data{.input = input.data(),
                        .output = output.data(),
                        .elements = count,
                        .element_bytes = sizeof(std::int64_t),
                        .combine = {.call = add_values, .element_bytes = sizeof(std::int64_t)}};
        ASSERT_EQ(executor.run(*compiled, ground, data), host::success);
        EXPECT_EQ(output, Values(input.size(), 3));
      }
    }
  });
}

}  // namespace
}  // namespace unisono::schedule
