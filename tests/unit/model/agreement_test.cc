// SPDX-License-Identifier: BSD-3-Clause
// The ways to run in virtual time agree, for all algorithms of the registry. Rounds asked for one after the
// other agree with the executor's own dependencies, and one node for all agrees with all nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "../case_turns.h"
#include "machines.h"
#include "model/predict.h"
#include "model/symmetry.h"
#include "model/virtual_time.h"

namespace unisono::model {
namespace {

using algorithms::Descriptor;
using schedule::Problem;

// All costs that a machine can have.
Machine everything_costs() {
  Machine machine = *find_built_in("ethernet");
  machine.cores_per_node = 3;
  return machine;
}

struct Case {
  const Descriptor& algorithm;
  Problem problem;
  CallSize size;
  BuildProgram build() const {
    return [this](const Problem& own) { return algorithm.build(own, with_standards(algorithm)); };
  }
  std::string text() const {
    return std::string(name(algorithm.operation)) + "/" + algorithm.name + " on " +
           problem.layout->describe() + ", " + std::to_string(size.elements) + " elements";
  }
};

template <typename Check>
void for_all_algorithms(const std::vector<std::string>& layouts, const std::vector<std::int64_t>& sizes,
                        Check check) {
  int number = 0;
  for (const Descriptor& algorithm : algorithms::registry()) {
    for (const std::string& layout : layouts) {
      for (const std::int64_t bytes : sizes) {
        if (!case_turns().has(number++)) continue;
        const Problem problem = problem_on(algorithm.operation, layout);
        if (!why_illegal(algorithm, problem, bytes, true, true).empty()) continue;
        check(
            Case{algorithm, problem, {.elements = bytes / 8, .element_bytes = 8, .channel_bytes = 1 << 20}});
      }
    }
  }
}

// Fewer rounds are looked ahead, so what the executor may do early comes later. Other messages may find that
// better or worse. The bound is for all; nearly all are equal.
TEST(Agreement, RoundByRoundAsByTheExecutorsDependencies) {
  const Machine machine = everything_costs();
  int cases = 0, equal = 0;
  for_all_algorithms({"7", "4x2", "3,5,8"}, {64, 4096, 100'000}, [&](const Case& c) {
    const Crew crew = everyone(c.problem.layout);
    const Outcome by_round = run_in_virtual_time(c.problem, c.build(), c.size, machine, crew);
    const Outcome exact =
        run_in_virtual_time(c.problem, c.build(), c.size, machine, crew, {.is_compiled = true});
    ASSERT_EQ(by_round.problem, "") << c.text();
    ASSERT_EQ(exact.problem, "") << c.text();
    EXPECT_EQ(by_round.pieces, exact.pieces) << c.text();
    EXPECT_NEAR(by_round.us, exact.us, 0.3 * exact.us) << c.text();
    ++cases;
    const bool is_equal = std::abs(by_round.us - exact.us) <= 0.01 * exact.us;
    equal += is_equal ? 1 : 0;
  });
  EXPECT_GT(cases, 800 / case_turns().every);
  EXPECT_GE(equal, 0.9 * cases) << "of " << cases;
}

// A14: the same where sends are paced. There is an algorithm that it makes slower: the model knows of it.
TEST(Agreement, PacedSendsByRoundAsByTheExecutorsDependencies) {
  const Machine machine = everything_costs();
  int slower = 0;
  for_all_algorithms({"7", "4x2"}, {64, 100'000}, [&](const Case& c) {
    if (std::ranges::find(c.algorithm.parameters, "pace", &algorithms::ParameterSpec::name) ==
        c.algorithm.parameters.end())
      return;
    const Crew crew = everyone(c.problem.layout);
    const double flood_us = run_in_virtual_time(c.problem, c.build(), c.size, machine, crew).us;
    for (const int pace : {1, 2}) {
      algorithms::Parameters chosen;
      chosen.set("pace", pace);
      const BuildProgram build = [&](const Problem& own) {
        return c.algorithm.build(own, with_standards(c.algorithm, chosen));
      };
      const Outcome by_round = run_in_virtual_time(c.problem, build, c.size, machine, crew);
      const Outcome exact =
          run_in_virtual_time(c.problem, build, c.size, machine, crew, {.is_compiled = true});
      ASSERT_EQ(by_round.problem, "") << c.text();
      EXPECT_NEAR(by_round.us, exact.us, 0.02 * exact.us) << c.text() << ", pace " << pace;
      slower += by_round.us > 1.02 * flood_us ? 1 : 0;
    }
  });
  EXPECT_TRUE(slower > 0 || case_turns().every > 1);
}

// With all parts equally long; what is left is who of several comes first at the same time.
TEST(Agreement, OneNodeForAllAsAllNodes) {
  const Machine machine = everything_costs();
  std::set<std::string> alike;
  for_all_algorithms({"4x4", "5x2", "8x1"}, {240, 92'160}, [&](const Case& c) {
    Case equal = c;
    equal.size = with_equal_parts(c.size, c.problem.size);
    const auto node = one_node_for_all(equal.problem, equal.build(), equal.size);
    if (!node) return;
    alike.insert(std::string(name(c.algorithm.operation)) + "/" + c.algorithm.name);
    const Outcome all = run_in_virtual_time(equal.problem, equal.build(), equal.size, machine,
                                            everyone(equal.problem.layout));
    const Outcome one = run_in_virtual_time(equal.problem, equal.build(), equal.size, machine, *node);
    ASSERT_EQ(one.problem, "") << c.text();
    EXPECT_NEAR(one.us, all.us, 0.01 * all.us) << c.text();
    EXPECT_LT(one.pieces, all.pieces) << c.text();
  });
  // Those that make the difference: p rounds of p ranks.
  for (const char* wanted : {"allreduce/ring", "allgather/ring", "alltoall/pairwise"}) {
    EXPECT_TRUE(alike.count(wanted) == 1 || case_turns().every > 1) << wanted;
  }
  EXPECT_EQ(alike.count("bcast/binomial"), 0u);
}

}  // namespace
}  // namespace unisono::model
