// SPDX-License-Identifier: BSD-3-Clause
// What is predicted grows as the rounds of the algorithms do, whether all nodes are run or one for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

#include "machines.h"
#include "model/predict.h"

namespace unisono::model {
namespace {

using algorithms::Descriptor;
using schedule::Problem;

int stride() {
  const char* text = std::getenv("TEST_STRIDE");
  return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

std::string text_of(const Descriptor& algorithm, const std::string& layout, std::int64_t bytes) {
  return std::string(name(algorithm.operation)) + "/" + algorithm.name + " on " + layout + ", " +
         std::to_string(bytes) + " bytes";
}

constexpr std::int64_t never = std::int64_t{1} << 62;

Prediction predicted(const Descriptor& algorithm, const std::string& layout, std::int64_t bytes,
                     const Machine& machine, std::int64_t many_steps) {
  const PredictOptions options{
      .most_pieces = 50'000, .most_pieces_of_node = 50'000, .many_steps = many_steps};
  return predict({&algorithm, {}}, problem_on(algorithm.operation, layout), bytes, machine, options);
}

// Each message takes as long as any other, whatever it moves, and each step inside a node `node_us`: the time
// is how many follow each other.
Machine of_rounds(double node_us) {
  Machine machine;
  machine.name = "rounds";
  machine.cores_per_node = 1 << 20;
  const Curve one({{0, 1.0}}), inside({{0, node_us}});
  machine.network.plogp = {1, one, one, one};
  machine.node.plogp = {node_us, inside, inside, inside};
  machine.shared.put_us = machine.shared.get_us = machine.shared.copy_us = inside;
  machine.shared.combine_us = machine.shared.single_copy_us = inside;
  machine.shared.flag_us = machine.shared.signal_us = machine.shared.line_us = machine.shared.fused_us =
      node_us;
  machine.shared.channel_bytes = 4 << 20;
  return machine;
}

bool is_on_blocks(Operation operation) {
  switch (operation) {
    case Operation::bcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
    case Operation::barrier:
      return false;
    default:
      return true;
  }
}

// Sizes that are no multiple of the number of ranks: the parts that one node for all has are equally long,
// and the bytes are those of the call.
TEST(Scaling, OneNodeForAllMovesWhatAllNodesDo) {
  const Machine machine = *find_built_in("ethernet");
  int number = 0, alike = 0;
  for (const Descriptor& algorithm : algorithms::registry()) {
    for (const std::string layout : {"16x1", "8x4"}) {
      for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{1000}, std::int64_t{40'008}}) {
        if (number++ % stride() != 0) continue;
        const Prediction one = predicted(algorithm, layout, bytes, machine, 0);
        if (!one.problem.empty() || !one.is_for_all_nodes) continue;
        const Prediction all = predicted(algorithm, layout, bytes, machine, never);
        ASSERT_EQ(all.problem, "") << text_of(algorithm, layout, bytes);
        EXPECT_FALSE(all.is_for_all_nodes);
        EXPECT_LT(one.us, 1.25 * all.us) << text_of(algorithm, layout, bytes);
        EXPECT_GT(one.us, 0.75 * all.us) << text_of(algorithm, layout, bytes);
        ++alike;
      }
    }
  }
  EXPECT_GT(alike, 100 / stride());
}

// How many more rounds follow each other: of all kinds, or of messages between nodes where these grow more.
double growth_of_rounds(const Descriptor& algorithm, const std::string& few, const std::string& more) {
  double growth = 0;
  for (const double node_us : {1.0, 0.01}) {
    const Machine rounds = of_rounds(node_us);
    const Prediction before = predicted(algorithm, few, 8, rounds, never);
    const Prediction after = predicted(algorithm, more, 8, rounds, never);
    if (before.problem.empty() && after.problem.empty()) growth = std::max(growth, after.us / before.us);
  }
  // What is linear in part becomes so the more the more ranks there are.
  constexpr double logarithmic = 3, linear = 8;
  return growth <= logarithmic ? growth : std::max(growth, linear);
}

// Eight times the ranks: an algorithm whose rounds become 7 from 4 takes no more than 7/4 of the time, be it
// that all ranks were run first and one node stands for all then. (Of blocks there would be eight times as
// many bytes.)
TEST(Scaling, EightTimesTheRanksCostWhatTheRoundsSay) {
  const Machine machine = *find_built_in("ethernet");
  constexpr double slack = 1.2;
  int number = 0, compared = 0, of_node = 0;
  for (const Descriptor& algorithm : algorithms::registry()) {
    for (const auto& [few, more, many] : {std::tuple{"8x1", "64x1", "512x1"}, {"4x4", "32x4", "256x4"}}) {
      if (is_on_blocks(algorithm.operation) || number++ % stride() != 0) continue;
      const Prediction first = predicted(algorithm, more, 8, machine, never);
      const Prediction second = predicted(algorithm, many, 8, machine, 0);
      if (!first.problem.empty() || !second.problem.empty()) continue;
      const double growth = growth_of_rounds(algorithm, few, more);
      EXPECT_LT(second.us, slack * growth * first.us) << text_of(algorithm, many, 8) << ": " << first.us
                                                      << " us on " << more << ", rounds grow " << growth;
      ++compared;
      of_node += second.is_for_all_nodes ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 60 / stride());
  EXPECT_GT(of_node, 8 / stride());
}

}  // namespace
}  // namespace unisono::model
