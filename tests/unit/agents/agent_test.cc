// SPDX-License-Identifier: BSD-3-Clause
// Agents as threads of a fake MPI, and ranks as threads beside them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agents/meeting.h"
#include "agents/program_form.h"
#include "agents/rank_channel.h"
#include "algorithms/catalogue/descriptor.h"
#include "base/clock.h"
#include "fake_nodes.h"

namespace unisono::agents {
namespace {

class AgentSums : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(AgentSums, joins_the_vectors_of_all_ranks) {
  const auto [nodes, ranks] = GetParam();
  const FakeAgents agents(nodes);
  const auto made = make_nodes(agents.job, nodes, ranks);
  for_each_rank(made, [&](RankChannel& channel, int node, int rank) {
    for (const std::size_t count : {1U, 4U, 5U, 6U, 7U, 1000U, 4096U}) {
      std::vector<double> operand(count), expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        operand[i] = static_cast<double>(1000 * node + 10 * rank) + static_cast<double>(i);
        for (int n = 0; n < nodes; ++n) {
          for (int r = 0; r < ranks; ++r)
            expected[i] += static_cast<double>(1000 * n + 10 * r) + static_cast<double>(i);
        }
      }
      const Descriptor what{.count = static_cast<std::uint32_t>(count),
                            .schedule = static_cast<std::uint8_t>(schedule_of(
                                channel, Operation::allreduce, "recursive_doubling", nodes, node, 0)),
                            .operation = Operation::allreduce,
                            .element = ElementType::float64,
                            .op = ReduceOp::sum,
                            .float_control = FloatControl::of_this_thread()};
      EXPECT_EQ(await(channel, channel.post(what, operand.data(), count * sizeof(double)), count), expected);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, AgentSums,
                         testing::Values(std::pair(1, 1), std::pair(1, 3), std::pair(2, 1), std::pair(3, 2),
                                         std::pair(4, 1), std::pair(5, 3)));

// Several are under way at once, and nobody waits in between.
TEST(Agent, a_window_of_operations_is_posted_before_any_is_awaited) {
  constexpr int nodes = 3;
  const FakeAgents agents(nodes, {.max_delay = 5});
  const auto made = make_nodes(agents.job, nodes, 2);
  for_each_rank(made, [&](RankChannel& channel, int node, int rank) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::uint64_t> numbers;
      while (channel.has_room()) {
        const double operand = node + rank + round + static_cast<double>(numbers.size());
        numbers.push_back(
            channel.post({.count = 1,
                          .schedule = static_cast<std::uint8_t>(schedule_of(
                              channel, Operation::allreduce, "recursive_doubling", nodes, node, 0)),
                          .operation = Operation::allreduce,
                          .element = ElementType::float64},
                         &operand, sizeof operand));
      }
      ASSERT_EQ(numbers.size(), static_cast<std::size_t>(window));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double expected = 2 * (0 + 1 + 2) + 3 * (0 + 1) + 6 * (round + static_cast<double>(i));
        EXPECT_EQ(await(channel, numbers[i], 1), std::vector{expected});
      }
    }
  });
}

// More roots than schedules are kept: those that are not used give room.
TEST(Agent, vectors_come_from_every_root) {
  constexpr int nodes = 11;
  const FakeAgents agents(nodes);
  const auto made = make_nodes(agents.job, nodes, 2);
  for_each_rank(made, [&](RankChannel& channel, int node, int rank) {
    for (int turn = 0; turn < 2 * nodes; ++turn) {
      const int root = turn % nodes;
      const bool is_root = node == root && rank == turn % 2;
      const double operand = is_root ? 100 + turn : -1;
      const Descriptor what{.count = 1,
                            .schedule = static_cast<std::uint8_t>(
                                schedule_of(channel, Operation::bcast, "binomial", nodes, node, root)),
                            .operation = Operation::bcast,
                            .element = ElementType::float64,
                            .is_root = is_root};
      const std::uint64_t number = channel.post(what, is_root ? &operand : nullptr, sizeof operand);
      EXPECT_EQ(await(channel, number, 1), std::vector{100.0 + turn});
    }
  });
}

// A node that is not the root of a reduce may be ahead of the root by the window. Its ranks may write over
// what they have brought. The agent keeps that for the root until all have begun.
TEST(Agent, keeps_what_the_root_of_a_reduce_may_need) {
  constexpr int nodes = 2;
  const FakeAgents agents(nodes);
  const auto made = make_nodes(agents.job, nodes, 2);
  const auto post = [&](int node, int rank, double operand) {
    RankChannel& channel = *made[static_cast<std::size_t>(node)]->channels[static_cast<std::size_t>(rank)];
    return channel.post({.count = 1,
                         .schedule = static_cast<std::uint8_t>(
                             schedule_of(channel, Operation::reduce, "binomial", nodes, node, 0)),
                         .operation = Operation::reduce,
                         .element = ElementType::float64,
                         .is_root = node == 0 && rank == 0},
                        &operand, sizeof operand);
  };
  const ChannelPlace& place = made[1]->segment().header().places[0];
  const ChannelMemory memory(made[1]->segment().at(place.offset), nodes, 2);
  RankChannel& ahead = *made[1]->channels[0];
  for (int i = 1; i <= window; ++i) {
    const std::uint64_t number = post(1, 0, i);
    post(1, 1, 10 * i);
    await(ahead, number, 1);
    made[1]->channels[1]->take(number);
    const Answer& kept = memory.answer(number);
    EXPECT_EQ(*reinterpret_cast<const double*>(kept.data), 11.0 * i);
    EXPECT_EQ(kept.what.operation, Operation::reduce);
    EXPECT_EQ(kept.root, 0);
  }
  const std::uint64_t next = post(1, 0, 5);
  post(1, 1, 50);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ahead.is_answered(next)) << "the root has not begun";
  const std::uint64_t first = post(0, 0, 1);
  post(0, 1, 1);
  EXPECT_EQ(await(*made[0]->channels[0], first, 1), std::vector{13.0});
  await(ahead, next, 1);
  for (int i = 2; i <= window + 1; ++i) {
    made[0]->channels[1]->take(post(0, 0, 0));
    post(0, 1, 0);
  }
  EXPECT_EQ(await(*made[0]->channels[0], next, 1), std::vector{55.0});
}

// One communicator whose ranks come late holds up nobody else.
TEST(Agent, channels_do_not_wait_for_each_other) {
  constexpr int nodes = 2;
  const FakeAgents agents(nodes);
  const auto late = make_nodes(agents.job, nodes, 1, 3), early = make_nodes(agents.job, nodes, 1, 1);
  const auto sum = [&](RankChannel& channel, int node) {
    const double operand = 1 + node;
    return channel.post({.count = 1,
                         .schedule = static_cast<std::uint8_t>(schedule_of(
                             channel, Operation::allreduce, "recursive_doubling", nodes, node, 0)),
                         .operation = Operation::allreduce,
                         .element = ElementType::float64},
                        &operand, sizeof operand);
  };
  const std::uint64_t first = sum(*late[0]->channels[0], 0);
  for_each_rank(early, [&](RankChannel& channel, int node, int) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(await(channel, sum(channel, node), 1), std::vector{3.0});
  });
  EXPECT_FALSE(late[0]->channels[0]->is_answered(first));
  const std::uint64_t second = sum(*late[1]->channels[0], 1);
  EXPECT_EQ(await(*late[0]->channels[0], first, 1), std::vector{3.0});
  EXPECT_EQ(await(*late[1]->channels[0], second, 1), std::vector{3.0});
}

TEST(Agent, answers_that_a_call_makes_no_sense) {
  const FakeAgents agents(1);
  const auto made = make_nodes(agents.job, 1, 1);
  RankChannel& channel = *made[0]->channels[0];
  const int good = schedule_of(channel, Operation::allreduce, "recursive_doubling", 1, 0, 0);
  const int bad = channel.keep({.operation = Operation::reduce}, "no program");
  const auto error_of = [&](const Descriptor& what) {
    const double operand = 1;
    const std::uint64_t number = channel.post(what, &operand, sizeof operand);
    const double deadline_s = now_s() + 20;
    while (!channel.is_answered(number) && now_s() < deadline_s) std::this_thread::yield();
    EXPECT_TRUE(channel.is_answered(number));
    channel.take(number);
    return channel.error(number);
  };
  const Descriptor sum{.count = 1,
                       .schedule = static_cast<std::uint8_t>(good),
                       .operation = Operation::allreduce,
                       .element = ElementType::float64};
  EXPECT_EQ(error_of(sum), 0);
  Descriptor wrong = sum;
  wrong.schedule = static_cast<std::uint8_t>(bad);
  EXPECT_NE(error_of(wrong), 0) << "bytes that are no program";
  wrong = sum;
  wrong.operation = Operation::reduce;
  EXPECT_NE(error_of(wrong), 0) << "the program of another operation";
  wrong = sum;
  wrong.op = ReduceOp::band;
  EXPECT_NE(error_of(wrong), 0) << "no such operator on the type";
  wrong = sum;
  wrong.count = 1 << 30;
  EXPECT_NE(error_of(wrong), 0) << "too long";
  EXPECT_EQ(error_of(sum), 0) << "and it goes on";
}

TEST(Agent, ends_when_its_ranks_have_left) {
  const FakeAgents agents(2);
  auto made = make_nodes(agents.job, 2, 1);
  EXPECT_FALSE(agents.has_ended);
  made.clear();
  const double deadline_s = now_s() + 20;
  while (!agents.has_ended && now_s() < deadline_s) std::this_thread::yield();
  EXPECT_TRUE(agents.has_ended);
}

TEST(Agent, a_place_is_free_again_when_its_ranks_have_left_it) {
  const FakeAgents agents(1);
  const Node stays(agents.job, 0);
  for (int turn = 0; turn < 3; ++turn) {
    auto made = make_nodes(agents.job, 1, 1, 7);
    ChannelPlace& place = stays.segment().header().places[7];
    EXPECT_EQ(place.state.load(), ChannelPlace::State::open);
    made.clear();
    const double deadline_s = now_s() + 20;
    while (place.state.load() != ChannelPlace::State::free && now_s() < deadline_s) std::this_thread::yield();
    EXPECT_EQ(place.state.load(), ChannelPlace::State::free);
  }
}

// Asleep, and awake again at once when a rank rings.
TEST(Agent, sleeps_when_nobody_needs_it) {
  const FakeAgents agents(1);
  const auto made = make_nodes(agents.job, 1, 1);
  const std::atomic<std::uint32_t>& sleepers = made[0]->segment().header().bell.sleepers;
  RankChannel& channel = *made[0]->channels[0];
  for (int turn = 0; turn < 5; ++turn) {
    const double deadline_s = now_s() + 20;
    while (sleepers.load() == 0 && now_s() < deadline_s) std::this_thread::yield();
    EXPECT_EQ(sleepers.load(), 1U);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const double operand = turn;
    const std::uint64_t number =
        channel.post({.count = 1,
                      .schedule = static_cast<std::uint8_t>(
                          schedule_of(channel, Operation::allreduce, "recursive_doubling", 1, 0, 0)),
                      .operation = Operation::allreduce,
                      .element = ElementType::float64},
                     &operand, sizeof operand);
    EXPECT_EQ(await(channel, number, 1), std::vector{operand});
  }
}

}  // namespace
}  // namespace unisono::agents
