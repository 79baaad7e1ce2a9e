// SPDX-License-Identifier: BSD-3-Clause
#include "proof/count_transfers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::proof {
namespace {

std::vector<Border> counted(Operation operation, const std::string& algorithm, const std::string& layout,
                            std::int64_t bytes, const algorithms::Parameters& chosen = {}) {
  const algorithms::Descriptor& descriptor = *algorithms::find(operation, algorithm);
  schedule::Problem problem{.operation = operation};
  problem.layout = std::make_shared<const patterns::Layout>(*patterns::Layout::parse(layout));
  problem.size = problem.layout->size();
  std::vector<std::string> failures;
  const auto parameters = algorithms::with_standards(descriptor, chosen);
  const auto build = [&](const schedule::Problem& of) { return descriptor.build(of, parameters); };
  const CheckedCall call = spread_out(algorithm, problem, false, build, &failures);
  EXPECT_TRUE(failures.empty());
  return count_transfers(call, bytes);
}

// Everyone reads everyone's line: of 16 ranks in 2 domains 8 on the other side.
TEST(CountTransfers, FlatFusedOperationsCrossOncePerPair) {
  const auto borders = counted(Operation::allreduce, "fused", "1x2x8", 8);
  ASSERT_EQ(borders.size(), 3u);
  EXPECT_EQ(borders[0].name, "node");
  EXPECT_EQ(borders[0].lines, 0);
  EXPECT_EQ(borders[1].name, "numa");
  EXPECT_EQ(borders[1].parts, 2);
  EXPECT_EQ(borders[1].lines, 2 * 8 * 8);
  EXPECT_EQ(borders[1].bytes, 2 * 8 * 8 * 8);
  EXPECT_EQ(borders[1].least_lines, 2) << "into one of the two, and out of it";
  EXPECT_EQ(borders[2].name, "rank");
  EXPECT_EQ(borders[2].lines, 16 * 15);
  EXPECT_EQ(borders[2].least_lines, 2 * 15);
  EXPECT_EQ(borders[2].flags, 0) << "flags stand in the lines";
}

TEST(CountTransfers, OneRankIsReadByAllOthers) {
  const auto borders = counted(Operation::bcast, "fused", "1x4x4", 100);
  EXPECT_EQ(borders[1].lines, 12 * 2) << "two lines of 56 bytes";
  EXPECT_EQ(borders[1].bytes, 12 * 100);
  EXPECT_EQ(borders[1].least_lines, 3 * 2);
  EXPECT_EQ(borders[2].bytes, 15 * 100);
}

TEST(CountTransfers, BarriersMoveLinesWithoutData) {
  const auto borders = counted(Operation::barrier, "fused", "1x2x2", 0);
  EXPECT_EQ(borders[1].lines, 2 * 2 * 2);
  EXPECT_EQ(borders[1].bytes, 0);
  EXPECT_EQ(borders[1].least_lines, 2);
}

// Of two levels a domain's border counts what crosses an outer one as well.
TEST(CountTransfers, InnerBordersCountWhatCrossesOuterOnes) {
  const auto borders = counted(Operation::reduce, "fused", "1x2x2x2", 8);
  ASSERT_EQ(borders.size(), 4u);
  EXPECT_EQ(borders[1].lines, 4) << "the other half";
  EXPECT_EQ(borders[2].lines, 6) << "all but the root's pair";
  EXPECT_EQ(borders[3].lines, 7);
  EXPECT_EQ(borders[2].least_lines, 3);
}

// A chain in the order of the ranks enters each domain once.
TEST(CountTransfers, MessagesCountWhereTheyGo) {
  const auto borders = counted(Operation::bcast, "chain", "2x2x2", 1000, [] {
    algorithms::Parameters whole;
    whole.set("segment", 0);
    return whole;
  }());
  EXPECT_EQ(borders[0].bytes, 1000);
  EXPECT_EQ(borders[0].least_bytes, 1000);
  EXPECT_EQ(borders[1].bytes, 2000) << "one domain on each node";
  EXPECT_EQ(borders[1].least_bytes, 2000);
  EXPECT_EQ(borders[2].bytes, 6000);
}

// What lies in a slot comes from its writer, also where all ranks write into one.
TEST(CountTransfers, SlotsAreReadFromWhoeverWroteThem) {
  const auto gathered = counted(Operation::gather, "shared", "1x2x2", 4096);
  EXPECT_EQ(gathered[1].bytes, 2 * 4096);
  EXPECT_EQ(gathered[2].bytes, 3 * 4096);
  EXPECT_GT(gathered[2].flags, 0);
  const auto copied = counted(Operation::bcast, "single_copy", "1x2x2", 4096);
  EXPECT_EQ(copied[1].bytes, 2 * 4096);
  EXPECT_EQ(copied[2].bytes, 3 * 4096);
  const auto scattered = counted(Operation::scatter, "shared", "1x2x2", 4096);
  EXPECT_EQ(scattered[1].bytes, 2 * 4096);
}

// Each rank joins its part of all vectors: three quarters of a vector come in, and three go out again.
TEST(CountTransfers, ReductionsOfPartsMoveEachPartToItsRank) {
  const auto borders = counted(Operation::allreduce, "single_copy", "1x2x2", 4096);
  EXPECT_EQ(borders[2].bytes, 2 * 3 * 4096);
  EXPECT_EQ(borders[1].bytes, 2 * 2 * 4096);
}

// Along domains nothing crosses a border that need not: 4 NUMA domains of 8 caches of 8 ranks, on 2 nodes.
TEST(CountTransfers, SmallMessagesAlongDomainsCrossBordersOnce) {
  algorithms::Parameters along;
  along.set("domains", 1);
  for (const Operation operation :
       {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce}) {
    const std::int64_t bytes = operation == Operation::barrier ? 0 : 8;
    const std::string between = operation == Operation::barrier     ? "two_level_dissemination"
                                : operation == Operation::allreduce ? "two_level_fused_recursive_doubling"
                                                                    : "two_level_fused_binomial";
    const auto on_one = counted(operation, "fused_domains", "1x4x8x8", bytes);
    const auto on_two = counted(operation, between, "2x4x8x8", bytes, along);
    for (const auto& borders : {on_one, on_two}) {
      ASSERT_EQ(borders.size(), 4u);
      for (std::size_t level = 1; level < borders.size(); ++level)
        EXPECT_EQ(borders[level].lines, borders[level].least_lines)
            << name(operation) << " of " << borders[level].parts << " " << borders[level].name;
    }
    EXPECT_LE(8 * on_one[1].lines, counted(operation, "fused", "1x4x8x8", bytes)[1].lines) << name(operation);
  }
}

TEST(CountTransfers, LongMessagesAlongDomainsCrossOuterBordersOnce) {
  constexpr std::int64_t bytes = 1 << 20;
  for (const Operation operation : {Operation::bcast, Operation::reduce, Operation::allreduce}) {
    for (const std::string layout : {"1x4x8", "1x2x4x4", "(7+3+5)"}) {
      const auto borders = counted(operation, "shared_domains", layout, bytes);
      EXPECT_EQ(borders[1].bytes, borders[1].least_bytes) << name(operation) << " " << layout;
    }
  }
}

TEST(CountTransfers, UnevenBlocksAreRefused) {
  EXPECT_THROW(counted(Operation::allgatherv, "ring", "1x2x2", 8), std::invalid_argument);
}

}  // namespace
}  // namespace unisono::proof
