// SPDX-License-Identifier: BSD-3-Clause
// Section 4.3.3: what does not overlap takes the sum of its layers.
#include "model/layers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machines.h"

namespace unisono::model {
namespace {

using algorithms::Parameters;

// A message takes 10 + m / 100; a broadcast inside a node 4 + 1 + 6.
Machine round_figures() {
  Machine machine = messages_alone();
  machine.shared.put_us = Curve({{0, 4.0}});
  machine.shared.get_us = Curve({{0, 6.0}});
  machine.shared.flag_us = 1;
  return machine;
}

const PredictOptions by_hockney{.model = MessageModel::hockney};

Candidate candidate_of(Operation operation, const char* name, const Parameters& chosen = {}) {
  const auto* algorithm = algorithms::find(operation, name);
  return {algorithm, with_standards(*algorithm, chosen)};
}

double sum_of(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.us;
  return sum;
}

// Three messages of 11 one after the other, then the node's broadcast.
TEST(LayersTest, EachLayerByItself) {
  const auto problem = problem_on(Operation::bcast, "4x4");
  const Candidate flat = candidate_of(Operation::bcast, "two_level_flat", parameters({{"overlap", 0}}));
  const auto layers = layers_of(flat, problem, 100, round_figures(), by_hockney);
  ASSERT_TRUE(layers);
  ASSERT_EQ(layers->size(), 2u);
  EXPECT_TRUE(layers->front().is_between_nodes);
  EXPECT_EQ(layers->front().algorithm, "flat");
  EXPECT_DOUBLE_EQ(layers->front().us, 3 * 11);
  EXPECT_EQ(layers->back().algorithm, "shared");
  EXPECT_DOUBLE_EQ(layers->back().us, 4 + 1 + 6);
}

// Of each part of the call its own cost counts once.
TEST(LayersTest, TheSumIsTheWholesTime) {
  Machine machine = round_figures();
  machine.call_us = 50;
  for (const Operation operation :
       {Operation::bcast, Operation::reduce, Operation::allreduce, Operation::allgather, Operation::gather}) {
    const bool is_between_all = operation == Operation::allreduce || operation == Operation::allgather;
    const Candidate whole =
        candidate_of(operation, is_between_all ? "two_level_recursive_doubling" : "two_level_binomial",
                     parameters({{"overlap", 0}}));
    const auto problem = problem_on(operation, "8x4");
    const auto layers = layers_of(whole, problem, 1000, machine, by_hockney);
    ASSERT_TRUE(layers) << name(operation);
    const Prediction run = predict(whole, problem, 1000, machine, by_hockney);
    ASSERT_EQ(run.problem, "") << name(operation);
    EXPECT_NEAR(sum_of(*layers), run.us, 0.1 * run.us) << name(operation);
  }
}

TEST(LayersTest, BlocksGrowOnTheirWay) {
  const Candidate whole = candidate_of(Operation::allgather, "two_level_ring", parameters({{"overlap", 0}}));
  const auto layers =
      layers_of(whole, problem_on(Operation::allgather, "2x3"), 100, round_figures(), by_hockney);
  ASSERT_TRUE(layers);
  ASSERT_EQ(layers->size(), 3u);
  EXPECT_EQ((*layers)[0].bytes, 100);
  EXPECT_EQ((*layers)[1].bytes, 3 * 100);
  EXPECT_EQ((*layers)[2].bytes, 6 * 100);
  EXPECT_EQ((*layers)[2].operation, Operation::bcast);
}

TEST(LayersTest, WhatHasNone) {
  EXPECT_FALSE(has_layers(*algorithms::find(Operation::bcast, "binomial")));
  EXPECT_FALSE(has_layers(*algorithms::find(Operation::alltoall, "two_level_simple")));
  EXPECT_FALSE(layers_of({}, problem_on(Operation::bcast, "4x4"), 100, round_figures()));
  const Candidate fused = candidate_of(Operation::bcast, "two_level_fused_flat");
  EXPECT_TRUE(layers_of(fused, problem_on(Operation::bcast, "4x4"), 100, round_figures()));
  EXPECT_FALSE(layers_of(fused, problem_on(Operation::bcast, "4x4"), 1 << 20, round_figures()));
}

}  // namespace
}  // namespace unisono::model
