// SPDX-License-Identifier: BSD-3-Clause
// Small programs given to the checker, and what its answers should be.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proof/check_schedule.h"

namespace unisono::proof {

using Texts = std::vector<std::string>;
using Round = std::function<void(const schedule::Problem&, int round, schedule::Writer&)>;

inline std::shared_ptr<const patterns::Layout> layout_of(const std::string& text) {
  return std::make_shared<patterns::Layout>(*patterns::Layout::parse(text));
}

struct Given {
  Operation operation = Operation::bcast;
  std::string layout = "4";
  int root = 0;
  bool is_commutative = true;
  bool is_in_place = false;
};

inline schedule::Problem problem_of(const Given& given) {
  schedule::Problem problem;
  problem.operation = given.operation;
  problem.layout = layout_of(given.layout);
  problem.size = problem.layout->size();
  problem.root = given.root;
  problem.is_commutative = given.is_commutative;
  return problem;
}

// A program of one stage.
inline Build one_stage(const schedule::Stage& shape, const Round& round) {
  return [shape, round](const schedule::Problem& problem) {
    schedule::Stage stage = shape;
    stage.write = [problem, round](int number, schedule::Writer& writer) { round(problem, number, writer); };
    schedule::Program program;
    program.stages.push_back(stage);
    program.scratch = 2;
    return program;
  };
}

inline Texts check_one(const Given& given, const Build& build, std::int64_t elements = 7,
                       CheckLoad load = {}) {
  Texts failures;
  const CheckedCall call = spread_out("test", problem_of(given), given.is_in_place, build, &failures);
  if (!failures.empty()) return failures;
  return check({&call}, {elements}, load);
}

// The same call `times` times in a row.
inline Texts check_repeated(const Given& given, const Build& build, int times, std::int64_t elements,
                            const CheckLoad& load) {
  Texts failures;
  const CheckedCall call = spread_out("test", problem_of(given), given.is_in_place, build, &failures);
  if (!failures.empty()) return failures;
  return check(std::vector<const CheckedCall*>(times, &call), std::vector<std::int64_t>(times, elements),
               load);
}

// Damages what the compiler found: the step waits for nothing.
inline void drop_dependencies(CheckedStep* checked) {
  EXPECT_LT(checked->first_before, checked->last_before);
  checked->last_before = checked->first_before;
}

inline testing::AssertionResult passes(const Texts& failures) {
  if (failures.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << failures.front();
}

inline testing::AssertionResult is_caught(const Texts& failures, const std::string& words) {
  if (failures.empty()) return testing::AssertionFailure() << "nothing was found";
  for (const std::string& text : failures) {
    if (text.find(words) != std::string::npos) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "found something else: " << failures.front();
}

}  // namespace unisono::proof
