// SPDX-License-Identifier: BSD-3-Clause
// Section 4.5: its equations by hand, its terms on a machine, and runs in virtual time between its bounds.
#include "model/mixed_mode.h"

#include <gtest/gtest.h>

#include <string>

#include "machines.h"
#include "model/predict.h"

namespace unisono::model {
namespace {

using algorithms::Parameters;

// By hand: segments of 10 between 4 nodes, with L = 3, g = 8, os = 2, smcc(m_s) = 7, smcc(m_r) = 1, ovp = 4.
TEST(MixedModeTest, Equations) {
  const MixedMode mode{.inter_node_us = 3 * (3 + 8) + 9 * 8,
                       .latency_us = 3,
                       .gap_us = 8,
                       .send_us = 2,
                       .overlapped_us = 7,
                       .remaining_us = 1,
                       .penalty_us = 4,
                       .segments = 10,
                       .nodes = 4};
  EXPECT_DOUBLE_EQ(mode.one_segment_us(), 19);
  EXPECT_DOUBLE_EQ(mode.one_penalized_segment_us(), 23);
  EXPECT_DOUBLE_EQ(mode.overlapping_us(), 105 + 9 * 1 + 8);
  EXPECT_DOUBLE_EQ(mode.complete_overlapping_us(), 113);
  EXPECT_DOUBLE_EQ(mode.penalty_mode_us(), 105 + 4 * 21 + 8);
  EXPECT_DOUBLE_EQ(mode.penalty_bound_us(), 105 + 7 * 21 + 8);
}

// The longest of 4.3 to 4.5 tells the mode: with g - os = 6 copies of up to 6 hide behind messages.
TEST(MixedModeTest, ModesAreToldApartByTheirTimes) {
  MixedMode mode{
      .inter_node_us = 100, .gap_us = 8, .send_us = 2, .overlapped_us = 5, .segments = 10, .nodes = 4};
  EXPECT_EQ(mode.mode(), "complete overlapping");
  EXPECT_DOUBLE_EQ(mode.expected_us(), 105);
  mode.overlapped_us = 7;
  EXPECT_EQ(mode.mode(), "overlapping");
  EXPECT_DOUBLE_EQ(mode.expected_us(), 107 + 9);
  mode.penalty_us = 1;
  EXPECT_EQ(mode.mode(), "penalty");
  EXPECT_DOUBLE_EQ(mode.expected_us(), 107 + 10 + 9 + 2);
}

// On machines whose curves are straight lines: g(m) = 2 + m / 100, os = 1, or = 1, L = 5, ovp(m) = m / 1000.
TEST(MixedModeTest, TermsAreThoseOfTheMachine) {
  Machine machine = messages_alone();
  machine.network.plogp = {.latency_us = 5,
                           .send_us = Curve({{0, 1.0}}),
                           .receive_us = Curve({{0, 1.0}}),
                           .gap_us = Curve({{0, 2.0}, {100'000, 1002.0}})};
  machine.shared.put_us = machine.shared.get_us = Curve({{0, 0.0}, {1000, 4.0}});
  machine.overlap_penalty_us = Curve({{0, 0.0}, {1000, 1.0}});
  const auto layout = *patterns::Layout::parse("2,3,2");
  // Four segments, the last one shorter; of each 1000 bytes beside the messages.
  const MixedMode mode = *mixed_mode(machine, layout, 15'000, 4000, 1000);
  EXPECT_EQ(mode.nodes, 3);
  EXPECT_EQ(mode.segments, 4);
  EXPECT_EQ(mode.remaining_bytes, 11'000);
  EXPECT_DOUBLE_EQ(mode.latency_us, 5);
  EXPECT_DOUBLE_EQ(mode.gap_us, 42);
  EXPECT_DOUBLE_EQ(mode.send_us, 1);
  EXPECT_DOUBLE_EQ(mode.inter_node_us, 2 * (5 + 42) + 3 * 42);
  EXPECT_DOUBLE_EQ(mode.penalty_us, 1);
  const auto smcc = [&](std::int64_t bytes) {
    const auto* shared = algorithms::find(Operation::bcast, "shared");
    return *predict_us(*shared, with_standards(*shared), problem_on(Operation::bcast, "3"), bytes, machine);
  };
  EXPECT_DOUBLE_EQ(mode.overlapped_us, smcc(1000));
  EXPECT_DOUBLE_EQ(mode.remaining_us, smcc(11'000));
  // What a call costs beside its steps is none of the terms; one that is not cut is one segment.
  machine.call_us = 50;
  EXPECT_DOUBLE_EQ(mixed_mode(machine, layout, 15'000, 4000, 1000)->overlapped_us, smcc(1000) - 50);
  const MixedMode uncut = *mixed_mode(machine, layout, 15'000, 0, 1 << 30);
  EXPECT_EQ(uncut.segments, 1);
  EXPECT_EQ(uncut.overlapped_bytes, 15'000);
  EXPECT_EQ(uncut.remaining_bytes, 0);
  EXPECT_DOUBLE_EQ(uncut.remaining_us, 0);
  // One rank a node: there is no shared memory to go through.
  EXPECT_DOUBLE_EQ(mixed_mode(machine, *patterns::Layout::parse("3x1"), 15'000, 4000, 1000)->overlapped_us,
                   0);
  EXPECT_FALSE(mixed_mode(machine, layout, 15'000, 4000, 1000, {.most_pieces = 1}));
}

// The two-level chain in virtual time lies between the bounds: equation 4.4 with no penalty, 4.6 with one of
// what the copies take.
TEST(MixedModeTest, VirtualTimeLiesBetweenTheBounds) {
  Machine machine = messages_alone();
  machine.shared.put_us = machine.shared.get_us = Curve({{0, 0.0}, {65536, 60.0}});
  const auto* algorithm = algorithms::find(Operation::bcast, "two_level_chain");
  constexpr std::int64_t segment = 16384, bytes = 1 << 20;
  for (const int nodes : {2, 3, 8}) {
    for (const std::int64_t overlap : {4096, 8192, 16384}) {
      const auto at = [&](const Machine& on) {
        const Parameters chosen = parameters({{"segment", segment}, {"overlap", overlap}});
        return *predict_us(*algorithm, with_standards(*algorithm, chosen),
                           problem_on(Operation::bcast, std::to_string(nodes) + "x4"), bytes, on);
      };
      const auto layout = *patterns::Layout::parse(std::to_string(nodes) + "x4");
      const MixedMode mode = *mixed_mode(machine, layout, bytes, segment, overlap);
      const double free = at(machine);
      EXPECT_NEAR(free, mode.complete_overlapping_us(), 0.1 * free) << nodes << " nodes, " << overlap;
      Machine penalized = machine;
      penalized.overlap_penalty_us = machine.shared.put_us;
      EXPECT_GE(at(penalized), free);
      EXPECT_LE(at(penalized), mode.penalty_bound_us()) << nodes << " nodes, " << overlap;
    }
  }
}

}  // namespace
}  // namespace unisono::model
