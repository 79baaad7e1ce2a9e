// SPDX-License-Identifier: BSD-3-Clause
// The proof of the registry: what it covers, and that a broken algorithm does not get through. The whole
// proof is a test of its own (check_all).
#include "proof/check_algorithm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "proof/check_cases.h"

namespace unisono::proof {
namespace {

using schedule::Problem;
using schedule::Program;
using schedule::Step;
using schedule::StepKind;
using schedule::Writer;

// The algorithm with every step of every rank passed through `change`.
algorithms::Descriptor changed(const algorithms::Descriptor& from,
                               const std::function<void(const Problem&, Step, Writer&)>& change) {
  algorithms::Descriptor descriptor = from;
  descriptor.build = [build = from.build, change](const Problem& problem,
                                                  const algorithms::Parameters& parameters) {
    Program program = build(problem, parameters);
    for (schedule::Stage& stage : program.stages) {
      stage.write = [write = stage.write, problem, change](int round, Writer& writer) {
        std::vector<Step> steps;
        Writer inner(&steps);
        write(round, inner);
        for (const Step& step : steps) change(problem, step, writer);
      };
    }
    return program;
  };
  return descriptor;
}

std::vector<CheckFailure> failures_of(const algorithms::Descriptor& descriptor,
                                      const std::vector<int>& ranks) {
  return check(descriptor, {.ranks = ranks, .threads = 1, .progress = {}}).failures;
}

bool is_caught(const std::vector<CheckFailure>& failures, const std::string& words) {
  return std::any_of(failures.begin(), failures.end(), [&](const CheckFailure& failure) {
    return failure.what.find(words) != std::string::npos;
  });
}

TEST(CheckRegistry, LeftOutAwaitIsCaught) {
  for (const StepKind kind : {StepKind::await, StepKind::await_space}) {
    const algorithms::Descriptor broken = changed(*algorithms::find(Operation::bcast, "shared"),
                                                  [kind](const Problem&, const Step& step, Writer& writer) {
                                                    if (step.kind != kind) writer.add(step);
                                                  });
    const auto failures = failures_of(broken, {3});
    EXPECT_TRUE(is_caught(failures, kind == StepKind::await ? "never written" : "may not have read yet"));
  }
}

TEST(CheckRegistry, WrongPeerIsCaughtForOneRootAlone) {
  // Only with the last rank as root, and only at five ranks.
  const algorithms::Descriptor broken = changed(
      *algorithms::find(Operation::bcast, "binomial"), [](const Problem& problem, Step step, Writer& writer) {
        if (problem.size == 5 && problem.root == 4 && problem.rank == 4 && step.peer == 0) step.peer = 1;
        writer.add(step);
      });
  EXPECT_TRUE(failures_of(broken, {4, 6}).empty());
  const auto failures = failures_of(broken, {5});
  ASSERT_FALSE(failures.empty());
  EXPECT_NE(failures[0].where.find("5 ranks"), std::string::npos);
  EXPECT_NE(failures[0].where.find("root 4"), std::string::npos);
  EXPECT_EQ(failures[0].operation, "bcast");
  EXPECT_EQ(failures[0].algorithm, "binomial");
}

TEST(CheckRegistry, WrongOperandOrderIsCaughtWhereItMatters) {
  const algorithms::Descriptor broken = changed(*algorithms::find(Operation::reduce, "binomial"),
                                                [](const Problem&, Step step, Writer& writer) {
                                                  if (step.kind == StepKind::reduce)
                                                    std::swap(step.left, step.right);
                                                  writer.add(step);
                                                });
  EXPECT_TRUE(is_caught(failures_of(broken, {3}), "only a commutative operator"));
  algorithms::Descriptor commutative = broken;
  commutative.legality.needs_commutative = true;
  EXPECT_TRUE(failures_of(commutative, {3}).empty());
}

// What is in order by itself but leaves the channel in a state that the next call does not expect.
TEST(CheckRegistry, CallsThatFollowEachOtherAreCaught) {
  const algorithms::Descriptor hasty = changed(*algorithms::find(Operation::bcast, "shared"),
                                               [](const Problem&, const Step& step, Writer& writer) {
                                                 if (step.kind != StepKind::await_space) writer.add(step);
                                               });
  const algorithms::Descriptor& other = *algorithms::find(Operation::allgather, "shared");
  const CheckResult result = check({&hasty, &other}, {.ranks = {3}, .threads = 1, .progress = {}});
  const bool is_found = std::any_of(result.failures.begin(), result.failures.end(), [](const auto& failure) {
    return failure.where.find("then the first again") != std::string::npos;
  });
  EXPECT_TRUE(is_found);
}

TEST(CheckCases, LayoutsHoldAllRanksAndDiffer) {
  for (const int size : standard_check_ranks()) {
    std::set<std::vector<int>> seen;
    for (const NamedLayout& layout : check_layouts(size)) {
      EXPECT_EQ(layout.layout->size(), size) << layout.name;
      EXPECT_TRUE(seen.insert(layout.layout->node_of).second) << layout.name;
    }
  }
  const auto layouts = check_layouts(10);
  const auto has = [&](auto is_wanted) { return std::any_of(layouts.begin(), layouts.end(), is_wanted); };
  EXPECT_TRUE(has([](const NamedLayout& l) { return l.layout->nodes() == 1; }));
  EXPECT_TRUE(has([](const NamedLayout& l) { return l.layout->nodes() == 2; }));
  EXPECT_TRUE(has([](const NamedLayout& l) { return l.layout->nodes() == 4 && !l.layout->is_uniform(); }));
  EXPECT_TRUE(has([](const NamedLayout& l) { return !l.layout->is_consecutive(); }));
  EXPECT_TRUE(has([](const NamedLayout& l) { return l.layout->nodes() == 10; }));
}

TEST(CheckCases, EveryValueComesEarly) {
  constexpr std::size_t early = 12;
  for (const algorithms::Descriptor& descriptor : algorithms::registry()) {
    const auto shapes = check_shapes(descriptor, 12, 1);
    std::set<std::pair<std::string, std::int64_t>> all, met;
    std::set<std::string> all_layouts, met_layouts;
    for (const auto& shape : shapes) all_layouts.insert(shape.layout.name);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (i < all_layouts.size()) met_layouts.insert(shapes[i].layout.name);
      for (const auto& value : shapes[i].parameters.values()) {
        all.insert(value);
        if (i < early) met.insert(value);
      }
    }
    EXPECT_EQ(met_layouts, all_layouts) << name(descriptor.operation) << "/" << descriptor.name;
    EXPECT_EQ(met, all) << name(descriptor.operation) << "/" << descriptor.name;
  }
}

TEST(CheckRegistry, SharesTogetherHaveAllCases) {
  std::vector<const algorithms::Descriptor*> some;
  for (const char* name : {"flat", "binomial", "shared"})
    some.push_back(algorithms::find(Operation::bcast, name));
  CheckOptions options{.ranks = {2, 3, 4, 5, 6}, .threads = 1, .effort = 1000, .progress = {}};
  const std::int64_t all = check(some, options).cases;
  std::int64_t together = 0;
  options.shares = 4;
  for (options.share = 0; options.share < options.shares; ++options.share) {
    const std::int64_t cases = check(some, options).cases;
    EXPECT_GT(cases, 0);
    EXPECT_LT(cases, all);
    together += cases;
  }
  EXPECT_EQ(together, all);
}

TEST(CheckCases, WhatIsKnownIsWhatTheCompilerMakes) {
  for (const algorithms::Descriptor& descriptor : algorithms::registry()) {
    KnownPrograms known;
    for (const CheckShape& shape : check_shapes(descriptor, 6, 1)) {
      std::vector<std::string> failures;
      const CheckedCall fresh = spread_out(descriptor, shape, &failures);
      const CheckedCall again = spread_out(descriptor, shape, &failures, &known);
      ASSERT_TRUE(failures.empty()) << failures[0];
      for (int rank = 0; rank < 6; ++rank) {
        const CheckedProgram& a = fresh.programs[rank];
        const CheckedProgram& b = again.programs[rank];
        ASSERT_EQ(a.before, b.before) << shape.describe(descriptor);
        ASSERT_EQ(a.first_step, b.first_step) << shape.describe(descriptor);
        ASSERT_EQ(a.steps.size(), b.steps.size()) << shape.describe(descriptor);
        for (int step = 0; step < static_cast<int>(a.steps.size()); ++step) {
          ASSERT_EQ(proof::describe(fresh, rank, step), proof::describe(again, rank, step));
          ASSERT_EQ(a.steps[step].partner, b.steps[step].partner) << proof::describe(fresh, rank, step);
        }
      }
    }
  }
}

TEST(CheckCases, WhatIsRefusedIsRefusedEveryTime) {
  const algorithms::Descriptor broken = changed(*algorithms::find(Operation::bcast, "flat"),
                                                [](const Problem& problem, Step step, Writer& writer) {
                                                  if (step.kind == StepKind::send) step.peer = problem.size;
                                                  writer.add(step);
                                                });
  KnownPrograms known;
  const CheckShape shape = check_shapes(broken, 3, 1).front();
  for (int time = 0; time < 2; ++time) {
    std::vector<std::string> failures;
    spread_out(broken, shape, &failures, &known);
    EXPECT_FALSE(failures.empty());
  }
}

TEST(CheckCases, StagesAreCutIntoDifferentNumbersOfPieces) {
  const algorithms::Descriptor& ring = *algorithms::find(Operation::allreduce, "ring");
  for (const CheckShape& shape : check_shapes(ring, 4, 1)) {
    std::vector<std::string> failures;
    const CheckedCall call = spread_out(ring, shape, &failures);
    ASSERT_TRUE(failures.empty()) << failures[0];
    if (shape.parameters.get("segment") == 0) continue;
    for (const int wanted : {1, 2, 3}) {
      EXPECT_EQ(most_pieces(call, load_for(ring, call, 40, wanted, Cut::forced)), wanted);
      const CheckLoad load = load_for(ring, call, 40, wanted, Cut::forced, 1);
      const LoadedProgram program(call, 1, load);
      EXPECT_EQ(program.pieces(0), wanted);
      EXPECT_EQ(program.pieces(1), wanted + 1);
      EXPECT_EQ(most_pieces(call, load_for(ring, call, 120, wanted, Cut::by_size)), wanted);
    }
  }
}

TEST(CheckCases, CountsAreThoseThatBreakThings) {
  const auto counts = check_counts(Operation::allreduce, 8);
  for (const std::int64_t wanted : {0, 1, 7, 17}) {
    EXPECT_NE(std::find(counts.begin(), counts.end(), wanted), counts.end()) << wanted;
  }
}

}  // namespace
}  // namespace unisono::proof
