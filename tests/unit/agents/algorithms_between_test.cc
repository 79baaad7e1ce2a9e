// SPDX-License-Identifier: BSD-3-Clause
// Agents by every algorithm of the registry that is legal where each node is one rank.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_nodes.h"

namespace unisono::agents {
namespace {

// One after the other on one channel; what was kept of one makes room for another.
class Between {
 public:
  Between(RankChannel& channel, int nodes, int node) : channel_(channel), nodes_(nodes), node_(node) {}

  void expect(const algorithms::Descriptor& algorithm, const algorithms::Parameters& parameters,
              std::string_view text, std::size_t count) {
    const Operation operation = algorithm.operation;
    const int root = is_rooted(operation) ? nodes_ - 1 : 0;
    const ScheduleKey key{.operation = operation, .root = root, .algorithm = text};
    const schedule::Problem problem{.operation = operation,
                                    .size = nodes_,
                                    .rank = node_,
                                    .root = root,
                                    .layout = layout_between(nodes_)};
    int kept = channel_.find(key);
    if (kept < 0) kept = channel_.keep(key, *write_program(problem, algorithm.build(problem, parameters)));
    ASSERT_GE(kept, 0);
    const bool is_root = is_rooted(operation) && node_ == root;
    const std::vector<double> operand(count, 1 + node_);
    Descriptor what{.count = static_cast<std::uint32_t>(count),
                    .schedule = static_cast<std::uint8_t>(kept),
                    .operation = operation,
                    .element = ElementType::float64,
                    .op = ReduceOp::sum,
                    .is_root = is_root};
    if (is_reduction(operation)) what.float_control = FloatControl::of_this_thread();
    const bool gives = is_reduction(operation) || (has_one_buffer(operation) && is_root);
    const std::uint64_t number =
        channel_.post(what, gives ? operand.data() : nullptr, count * sizeof(double));
    const std::vector<double> found = await(channel_, number, count);
    const double expected = is_reduction(operation) ? nodes_ * (nodes_ + 1) / 2.0 : root + 1;
    if (moves_data(operation) && (operation != Operation::reduce || is_root)) {
      EXPECT_EQ(found, std::vector<double>(count, expected));
    }
  }

 private:
  RankChannel& channel_;
  const int nodes_, node_;
};

class AgentsBetween : public testing::TestWithParam<int> {};

TEST_P(AgentsBetween, go_by_every_legal_algorithm) {
  const int nodes = GetParam();
  const FakeAgents agents(nodes, {.max_delay = 3});
  const auto made = make_nodes(agents.job, nodes, 1);
  std::atomic<int> run{0};
  for_each_rank(made, [&](RankChannel& channel, int node, int) {
    Between between(channel, nodes, node);
    for (const algorithms::Descriptor& algorithm : algorithms::registry()) {
      const bool is_theirs =
          algorithm.operation == Operation::allreduce || algorithm.operation == Operation::reduce ||
          algorithm.operation == Operation::bcast || algorithm.operation == Operation::barrier;
      const schedule::Problem problem{
          .operation = algorithm.operation, .size = nodes, .layout = layout_between(nodes)};
      if (!is_theirs || !algorithms::why_illegal(algorithm, problem, 8000, false, false).empty()) continue;
      std::vector<algorithms::Parameters> ways{algorithms::with_standards(algorithm)};
      for (const algorithms::ParameterSpec& spec : algorithm.parameters) {
        if (spec.name != "degree") continue;
        for (const std::int64_t degree : {2, 3, 5, 8}) {
          algorithms::Parameters chosen;
          chosen.set("degree", degree);
          ways.push_back(algorithms::with_standards(algorithm, chosen));
        }
      }
      for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::string text = algorithm.name + std::to_string(way);
        SCOPED_TRACE(std::string(name(algorithm.operation)) + " " + text);
        // The key's text lives on.
        static std::mutex mutex;
        static std::set<std::string> texts;
        const std::string* kept = nullptr;
        {
          const std::lock_guard lock(mutex);
          kept = &*texts.insert(text).first;
        }
        for (const std::size_t count : {1U, 7U, 1000U}) {
          between.expect(algorithm, ways[way], *kept, moves_data(algorithm.operation) ? count : 0);
          ++run;
        }
      }
    }
  });
  EXPECT_GT(run.load(), 60 * nodes);
}

INSTANTIATE_TEST_SUITE_P(Nodes, AgentsBetween, testing::Values(2, 3, 5, 8));

}  // namespace
}  // namespace unisono::agents
