// SPDX-License-Identifier: BSD-3-Clause
// What decisions are made by: rankings, native, what cannot be predicted.
#include "model/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "machines.h"

namespace unisono::model {
namespace {

const Prediction* find(const std::vector<Prediction>& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const Prediction& one) {
    return (one.candidate.algorithm == nullptr ? "native" : one.candidate.algorithm->name) == name;
  });
  return found == all.end() ? nullptr : &*found;
}

TEST(Predict, RanksByTime) {
  const auto problem = problem_on(Operation::allreduce, "3x2");
  const auto all =
      rank(candidates_for(Operation::allreduce, 65536), problem, 65536, *find_built_in("ethernet"));
  bool has_ended = false;
  double last = 0;
  for (const Prediction& one : all) {
    has_ended = has_ended || !one.problem.empty();
    EXPECT_EQ(one.problem.empty(), !has_ended);
    if (has_ended) continue;
    EXPECT_GE(one.us, last);
    last = one.us;
  }
  // Six ranks on three nodes: what wants one node, or a power of two, is refused with its reason.
  ASSERT_NE(find(all, "fused"), nullptr);
  EXPECT_EQ(find(all, "fused")->problem, "needs all ranks on one node, there are 3 nodes");
  EXPECT_GT(find(all, "two_level_ring")->us, 0);
}

TEST(Predict, WhereTimeIsShortWhatTakesFewStepsIsRunFirst) {
  const auto problem = problem_on(Operation::allreduce, "512x1");
  const Machine& machine = *find_built_in("ethernet");
  std::vector<Candidate> candidates;
  for (const char* name : {"rab1_direct_ring_light_barrier", "rab1_simple", "recursive_doubling"})
    candidates.push_back({algorithms::find(Operation::allreduce, name), {}});
  constexpr std::int64_t bytes = 64 << 10;
  PredictOptions options;
  int asked = 0;
  options.is_over = [&] { return ++asked > 1; };  // time enough for one that takes long
  const auto all = rank(candidates, problem, bytes, machine, options);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(find(all, "recursive_doubling")->problem, "");
  EXPECT_EQ(find(all, "rab1_simple")->problem, "");
  EXPECT_TRUE(find(all, "rab1_direct_ring_light_barrier")->problem.ends_with("for which there was no time"));
  // With time enough all is as without a limit.
  options.is_over = [] { return false; };
  const auto unhurried = rank(candidates, problem, bytes, machine, options);
  const auto unlimited = rank(candidates, problem, bytes, machine);
  ASSERT_EQ(unhurried.size(), unlimited.size());
  for (std::size_t i = 0; i < unlimited.size(); ++i) {
    EXPECT_EQ(unhurried[i].us, unlimited[i].us);
    EXPECT_EQ(unhurried[i].problem, "");
  }
}

TEST(Predict, NativeIsTheBestOfTheTextbooks) {
  const Machine& machine = *find_built_in("ethernet");
  for (const std::int64_t bytes : {8, 1 << 20}) {
    const auto problem = problem_on(Operation::allreduce, "8x1");
    const auto all = rank(candidates_for(Operation::allreduce, bytes), problem, bytes, machine);
    const Prediction native = predict_native(problem, bytes, machine);
    double best = 1e300;
    for (const char* name : {"recursive_doubling", "rabenseifner", "ring"}) {
      const auto* algorithm = algorithms::find(Operation::allreduce, name);
      best = std::min(best, *predict_us(*algorithm, with_standards(*algorithm), problem, bytes, machine));
    }
    EXPECT_DOUBLE_EQ(native.us, best);
    ASSERT_NE(find(all, "native"), nullptr);
    EXPECT_DOUBLE_EQ(find(all, "native")->us, best);
    EXPECT_EQ(find(all, "native")->stands_for, native.stands_for);
    EXPECT_EQ(native.candidate.algorithm, nullptr);
  }
}

TEST(Predict, EveryOperationHasANative) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    const Prediction native = predict_native(problem_on(operation, "4x2"), 1024, default_machine());
    EXPECT_EQ(native.problem, "") << name(operation);
    EXPECT_GT(native.us, 0) << name(operation);
  }
}

TEST(Predict, WhatMayNotWaitIsNotOffered) {
  const auto* fused = algorithms::find(Operation::barrier, "fused");
  const auto problem = problem_on(Operation::barrier, "4");
  EXPECT_TRUE(predict_us(*fused, {}, problem, 0, default_machine()));
  EXPECT_TRUE(predict_us(*fused, {}, problem, 0, default_machine(), {.is_blocking = false}));
  const auto* of_blocks = algorithms::find(Operation::gatherv, "fused");
  const auto problem_of_blocks = problem_on(Operation::gatherv, "4");
  EXPECT_TRUE(predict_us(*of_blocks, {}, problem_of_blocks, 8, default_machine()));
  EXPECT_FALSE(predict_us(*of_blocks, {}, problem_of_blocks, 8, default_machine(), {.is_blocking = false}));
  EXPECT_FALSE(predict_us(*fused, {}, problem, 0, default_machine(), {.has_shared_memory = false}));
}

// A message in segments hides the depth of a chain; the grid of settings finds that.
TEST(Predict, SettingsAreTried) {
  const auto candidates = candidates_for(Operation::bcast, 1 << 20);
  const auto all = rank(candidates, problem_on(Operation::bcast, "8x1"), 1 << 20, *find_built_in("ethernet"));
  const Prediction* chain = find(all, "chain");
  ASSERT_NE(chain, nullptr);
  EXPECT_LT(chain->candidate.parameters.get("segment"), 65536);
  EXPECT_GT(std::ranges::count_if(
                candidates, [&](const Candidate& c) { return c.algorithm == chain->candidate.algorithm; }),
            2);
}

// Blocks go down a chain piece by piece: a rank passes one on before it has all of them.
TEST(Predict, SegmentsOfScattersAndGathersPassOn) {
  const Machine machine = *find_built_in("ethernet");
  for (const Operation operation : {Operation::scatter, Operation::gather}) {
    for (const char* tree : {"chain", "binary"}) {
      const algorithms::Descriptor& along = *algorithms::find(operation, tree);
      const auto us = [&](std::int64_t segment, std::int64_t blocking) {
        const auto chosen = parameters({{"segment", segment}, {"window", 2}, {"blocking", blocking}});
        return predict_us(along, chosen, problem_on(operation, "8x1"), 1 << 20, machine).value();
      };
      EXPECT_LT(us(16 << 10, 0), 0.9 * us(0, 0)) << name(operation) << ' ' << tree;
      EXPECT_GE(us(16 << 10, 1), us(16 << 10, 0)) << name(operation) << ' ' << tree;
    }
  }
}

// Each rank receives bundles from several nodes: none of them waits for another one.
TEST(Predict, BundlesOfSeveralNodesArriveInAnyOrder) {
  for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_alltoallw}) {
    schedule::Problem problem = problem_on(operation, "13x2");
    problem.neighborhood =
        std::make_shared<const patterns::Neighborhood>(patterns::complete_neighborhood(problem.size));
    const algorithms::Descriptor& bundles = *algorithms::find(operation, "bundles");
    const Machine machine = *find_built_in("ethernet");
    const auto together = predict_us(bundles, {}, problem, 64, machine);
    const auto alone = predict_us(bundles, parameters({{"bundle_up_to", 0}}), problem, 64, machine);
    ASSERT_TRUE(together && alone) << name(operation);
    EXPECT_LT(*together, *alone) << name(operation);
    EXPECT_TRUE(predict_us(bundles, {}, problem, 0, machine));
  }
}

}  // namespace
}  // namespace unisono::model
