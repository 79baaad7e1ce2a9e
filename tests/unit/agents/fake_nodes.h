// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a communicator beside fake agents, and what their ranks do there.
#pragma once

#include <gtest/gtest.h>

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
#include "fake_agents.h"

namespace unisono::agents {

// A node of a communicator: its ranks are threads of the test.
class Node {
 public:
  Node(const std::string& job, int place) {
    std::string why;
    connection_ = Connection::open(job, place, 10, &why);
    EXPECT_NE(connection_, nullptr) << why;
  }
  const AgentSegment& segment() const { return connection_->segment(); }
  int agent() const { return segment().header().agent.rank; }
  void open(int place, int own_node, int ranks, const std::vector<std::int32_t>& agents) {
    ASSERT_TRUE(RankChannel::make(
        segment(), place,
        {.nodes = static_cast<std::int32_t>(agents.size()), .own_node = own_node, .ranks = ranks}, agents));
    for (int rank = 0; rank < ranks; ++rank)
      channels.push_back(std::make_unique<RankChannel>(segment(), place, rank));
  }

 private:
  std::unique_ptr<Connection> connection_;

 public:
  std::vector<std::unique_ptr<RankChannel>> channels;
};

inline std::vector<std::unique_ptr<Node>> make_nodes(const std::string& job, int nodes, int ranks,
                                                     int place = 0) {
  std::vector<std::unique_ptr<Node>> made;
  std::vector<std::int32_t> agents;
  for (int node = 0; node < nodes; ++node) {
    made.push_back(std::make_unique<Node>(job, node));
    agents.push_back(made.back()->agent());
  }
  for (int node = 0; node < nodes; ++node)
    made[static_cast<std::size_t>(node)]->open(place, node, ranks, agents);
  return made;
}

inline int schedule_of(RankChannel& channel, Operation operation, const char* algorithm, int nodes, int node,
                       int root) {
  if (!channel.is_first()) return 0;
  const ScheduleKey key{.operation = operation, .root = root};
  if (const int found = channel.find(key); found >= 0) return found;
  const schedule::Problem problem{
      .operation = operation, .size = nodes, .rank = node, .root = root, .layout = layout_between(nodes)};
  const algorithms::Descriptor* descriptor = algorithms::find(operation, algorithm);
  return channel.keep(
      key, *write_program(problem, descriptor->build(problem, algorithms::with_standards(*descriptor))));
}

inline std::vector<double> await(RankChannel& channel, std::uint64_t number, std::size_t count) {
  const double deadline_s = now_s() + 20;
  while (!channel.is_answered(number) && now_s() < deadline_s) std::this_thread::yield();
  EXPECT_TRUE(channel.is_answered(number));
  EXPECT_EQ(channel.error(number), 0);
  const auto* data = static_cast<const double*>(channel.result(number, count * sizeof(double)));
  std::vector<double> result(data, data + count);
  channel.take(number);
  return result;
}

inline void for_each_rank(const std::vector<std::unique_ptr<Node>>& nodes,
                          const std::function<void(RankChannel&, int node, int rank)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t rank = 0; rank < nodes[node]->channels.size(); ++rank)
      threads.emplace_back([&, node, rank] {
        body(*nodes[node]->channels[rank], static_cast<int>(node), static_cast<int>(rank));
      });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace unisono::agents
