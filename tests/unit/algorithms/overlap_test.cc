// SPDX-License-Identifier: BSD-3-Clause
// A6: which share of the nodes' phase stands in which stage. That it is right is proved with all algorithms.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/two_levels/two_level.h"

namespace unisono::algorithms {
namespace {

using schedule::Program;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Step;
using schedule::Writer;

Parameters parameters_of(std::int64_t segment, std::int64_t overlap) {
  Parameters parameters;
  parameters.set("segment", segment);
  parameters.set("overlap", overlap);
  return parameters;
}

// "M" a stage of messages, "N" one of the node's, "+" where it goes on with the channel, "|" before what
// begins apart.
std::string shape(Operation operation, const char* name, std::int64_t segment, std::int64_t overlap) {
  schedule::Problem problem{.operation = operation, .size = 6};
  problem.layout = std::make_shared<const patterns::Layout>(*patterns::Layout::parse("3x2"));
  const Descriptor& descriptor = *find(operation, name);
  const Program program =
      descriptor.build(problem, with_standards(descriptor, parameters_of(segment, overlap)));
  std::string text;
  for (const Stage& stage : program.stages) {
    if (stage.begins_apart) text += '|';
    text += stage.shared == SharedMode::none ? 'M' : 'N';
    if (stage.continues_channel) text += '+';
  }
  return text;
}

TEST(Overlap, SharesAddUp) {
  for (const std::int64_t segment : {0, 1, 100, 65536, 1 << 30}) {
    for (const std::int64_t overlap : {0, 1, 50, 4096, 65535, 65536, 1 << 30}) {
      const Overlap shares(parameters_of(segment, overlap));
      EXPECT_EQ(shares.beside.first, 0);
      EXPECT_EQ(shares.beside.count, shares.apart.first);
      EXPECT_EQ(shares.apart.first + shares.apart.count, shares.apart.of);
      EXPECT_EQ(shares.is_none(), overlap == 0);
      EXPECT_EQ(shares.is_total(), overlap > 0 && (segment == 0 || overlap >= segment)) << segment << overlap;
    }
  }
  EXPECT_EQ(Overlap(parameters_of(65536, 16384)).beside.count, 64);
}

TEST(Overlap, ABroadcastsRestComesLast) {
  EXPECT_EQ(shape(Operation::bcast, "two_level_chain", 65536, 0), "M|N");
  EXPECT_EQ(shape(Operation::bcast, "two_level_chain", 65536, 16384), "MN|N+");
  EXPECT_EQ(shape(Operation::bcast, "two_level_chain", 65536, 65536), "MN");
}

TEST(Overlap, AReductionsRestComesFirst) {
  EXPECT_EQ(shape(Operation::reduce, "two_level_chain", 65536, 0), "N|M");
  EXPECT_EQ(shape(Operation::reduce, "two_level_chain", 65536, 16384), "N|N+M");
  EXPECT_EQ(shape(Operation::reduce, "two_level_chain", 65536, 65536), "NM");
}

TEST(Overlap, AnAllreduceHasBoth) {
  EXPECT_EQ(shape(Operation::allreduce, "two_level_reduce_bcast", 65536, 0), "N|MM|N");
  EXPECT_EQ(shape(Operation::allreduce, "two_level_reduce_bcast", 65536, 16384), "N|N+MMN|N+");
  EXPECT_EQ(shape(Operation::allreduce, "two_level_reduce_bcast", 65536, 65536), "NMMN");
}

TEST(Overlap, TheNodesPhaseGoesByTheSegmentsWhereItIsAskedFor) {
  const auto pieces_of = [](std::int64_t overlap, std::int64_t piece) {
    schedule::Problem problem{.operation = Operation::bcast, .size = 6};
    problem.layout = std::make_shared<const patterns::Layout>(*patterns::Layout::parse("3x2"));
    const Descriptor& descriptor = *find(Operation::bcast, "two_level_chain");
    Parameters parameters = parameters_of(65536, overlap);
    parameters.set("piece", piece);
    return descriptor.build(problem, with_standards(descriptor, parameters)).stages.back().segment_bytes;
  };
  EXPECT_EQ(pieces_of(1 << 30, 0), 0) << "a slot";
  EXPECT_EQ(pieces_of(65536, 0), 65536);
  EXPECT_EQ(pieces_of(4096, 0), 65536);
  EXPECT_EQ(pieces_of(4096, 8192), 8192);
  EXPECT_EQ(pieces_of(0, 0), 0);
}

// The node's gather, the leaders' copy and ring, then one stage for each node's blocks.
TEST(Overlap, AnAllgathersBlocksAreHandedOutAsTheyCome) {
  for (const Operation operation : {Operation::allgather, Operation::allgatherv}) {
    for (const char* ring : {"two_level_ring", "two_level_topology_ring"}) {
      EXPECT_EQ(shape(operation, ring, 65536, 0), "NMMN") << ring;
      EXPECT_EQ(shape(operation, ring, 65536, 16384), "NMMNN+N+|N+N+N+") << ring;
      EXPECT_EQ(shape(operation, ring, 65536, 65536), "NMMNN+N+") << ring;
    }
  }
}

}  // namespace
}  // namespace unisono::algorithms
