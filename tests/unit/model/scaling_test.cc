// SPDX-License-Identifier: BSD-3-Clause
// What is predicted grows as the rounds of the algorithms do, whether all nodes are run or one for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "../case_turns.h"
#include "machines.h"
#include "model/predict.h"

namespace unisono::model {
namespace {

using algorithms::Descriptor;
using schedule::Problem;

std::string text_of(const Descriptor& algorithm, const std::string& layout, std::int64_t bytes) {
  return std::string(name(algorithm.operation)) + "/" + algorithm.name + " on " + layout + ", " +
         std::to_string(bytes) + " bytes";
}

constexpr std::int64_t never = std::int64_t{1} << 62;

Prediction predicted(const Descriptor& algorithm, const std::string& layout, std::int64_t bytes,
                     const Machine& machine, std::int64_t many_steps) {
  const PredictOptions options{
      .most_pieces = 20'000, .most_pieces_of_node = 20'000, .many_steps = many_steps};
  return predict({&algorithm, {}}, problem_on(algorithm.operation, layout), bytes, machine, options);
}

// Each step takes `start_us`, and as long again for so many bytes; inside a node `of_node` times that.
Machine of_steps(double start_us, double us_per_byte, double of_node) {
  Machine machine;
  machine.name = "steps";
  machine.cores_per_node = 1 << 20;
  constexpr std::int64_t far = std::int64_t{1} << 30;
  const auto line = [&](double factor) {
    return Curve(
        {{0, factor * start_us}, {far, factor * (start_us + us_per_byte * static_cast<double>(far))}});
  };
  const Curve one = line(1), inside = line(of_node);
  machine.network.plogp = {start_us, one, one, one};
  machine.node.plogp = {of_node * start_us, inside, inside, inside};
  machine.shared.put_us = machine.shared.get_us = machine.shared.copy_us = inside;
  machine.shared.combine_us = machine.shared.single_copy_us = inside;
  machine.shared.flag_us = machine.shared.signal_us = machine.shared.line_us = machine.shared.fused_us =
      of_node * start_us;
  machine.shared.channel_bytes = 4 << 20;
  return machine;
}

// Sizes that are no multiple of the number of ranks: the parts that one node for all has are equally long,
// and the bytes are those of the call.
TEST(Scaling, OneNodeForAllMovesWhatAllNodesDo) {
  const Machine machine = *find_built_in("ethernet");
  int number = 0, alike = 0;
  for (const Descriptor& algorithm : algorithms::registry()) {
    for (const std::string layout : {"16x1", "8x4"}) {
      for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{1000}, std::int64_t{40'008}}) {
        if (!case_turns().has(number++)) continue;
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
  EXPECT_GT(alike, 100 / case_turns().every);
}

// May a time be so many times as long for what more follows each other, rounds or bytes: of all kinds, or
// between nodes where these grow more?
bool is_what_rounds_say(double ratio, const Descriptor& algorithm, const std::string& few,
                        const std::string& more, std::int64_t bytes) {
  constexpr double nothing = 1e-6, slack = 1.2;
  static const Machine machines[] = {of_steps(1, 0, 1), of_steps(nothing, 1, 1), of_steps(1, 0, 0.01),
                                     of_steps(nothing, 1, 0.01)};
  if (ratio < slack) return true;
  return std::ranges::any_of(machines, [&](const Machine& machine) {
    const Prediction before = predicted(algorithm, few, bytes, machine, never);
    const Prediction after = predicted(algorithm, more, bytes, machine, never);
    if (!before.problem.empty() || !after.problem.empty()) return false;
    // What is linear in part becomes so the more the more ranks there are.
    constexpr double logarithmic = 3, linear = 8;
    const double growth = after.us / before.us;
    return ratio < slack * (growth <= logarithmic ? growth : std::max(growth, linear));
  });
}

// Eight times the ranks: an algorithm whose rounds become 7 from 4 takes no more than 7/4 of the time. That
// holds also where all ranks were run first and one node stands for all then. Of blocks there are eight times
// as many bytes.
TEST(Scaling, EightTimesTheRanksCostWhatTheRoundsSay) {
  const Machine machine = *find_built_in("ethernet");
  int number = 0, compared = 0, of_node = 0;
  std::set<Operation> operations;
  for (const Descriptor& algorithm : algorithms::registry()) {
    for (const auto& [few, more, many] : {std::tuple{"4x1", "32x1", "256x1"}, {"2x4", "16x4", "128x4"}}) {
      for (const std::int64_t bytes : {8, 1 << 10, 64 << 10}) {
        if (!case_turns().has(number++)) continue;
        const Prediction first = predicted(algorithm, more, bytes, machine, never);
        const Prediction second = predicted(algorithm, many, bytes, machine, 0);
        if (!first.problem.empty() || !second.problem.empty()) continue;
        EXPECT_TRUE(is_what_rounds_say(second.us / first.us, algorithm, few, more, bytes))
            << text_of(algorithm, many, bytes) << ": " << second.us << " us, " << first.us << " on " << more;
        ++compared;
        of_node += second.is_for_all_nodes ? 1 : 0;
        operations.insert(algorithm.operation);
      }
    }
  }
  EXPECT_GT(compared, 600 / case_turns().every);
  EXPECT_GT(of_node, 250 / case_turns().every);
  if (case_turns().every == 1) {
    EXPECT_EQ(operations.size(), operation_count);
  }
}

}  // namespace
}  // namespace unisono::model
