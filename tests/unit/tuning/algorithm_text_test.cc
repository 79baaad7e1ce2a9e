// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/algorithm_text.h"

#include <gtest/gtest.h>

namespace unisono::tuning {
namespace {

TEST(AlgorithmText, ASourcesNameMayHaveABracketOfItsOwn) {
  const ReadAlgorithm alone = algorithm_from_text(Operation::allreduce, "Rab2-(ring,ring)");
  EXPECT_EQ(alone.problem, "");
  ASSERT_NE(alone.named.algorithm, nullptr);
  EXPECT_EQ(alone.named.algorithm->name, "rab2_ring_direct_ring");
  const ReadAlgorithm with_parameters = algorithm_from_text(Operation::alltoall, "pair(rounds=2)");
  EXPECT_EQ(with_parameters.problem, "");
  EXPECT_EQ(to_text(with_parameters.named), "pairwise(rounds=2)");
}

TEST(AlgorithmText, AnUnknownNameIsToldWithWhatASourceMeansByIt) {
  EXPECT_EQ(algorithm_from_text(Operation::bcast, "scatter-allgather").problem,
            "there is no algorithm 'scatter-allgather' for bcast; a source calls so scatter_rd_allgather and "
            "scatter_ring_allgather");
  EXPECT_EQ(algorithm_from_text(Operation::bcast, "chain(segment=1K").problem,
            "the bracket behind 'chain' is not closed");
  EXPECT_EQ(algorithm_from_text(Operation::bcast, "frob(segment=1K)").problem,
            "there is no algorithm 'frob' for bcast");
}

}  // namespace
}  // namespace unisono::tuning
