// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/algorithm_text.h"

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
  const auto begins = [](std::string_view text, std::string_view with) {
    return algorithm_from_text(Operation::bcast, text).problem.starts_with(with);
  };
  EXPECT_TRUE(begins("scatter-allgather",
                     "there is no algorithm 'scatter-allgather' for bcast; a source calls so "
                     "scatter_rd_allgather and scatter_ring_allgather (`unisono list bcast` names them)"));
  EXPECT_EQ(algorithm_from_text(Operation::bcast, "chain(segment=1K").problem,
            "the bracket behind 'chain' is not closed");
  EXPECT_TRUE(
      begins("frob(segment=1K)", "there is no algorithm 'frob' for bcast (`unisono list bcast` names them)"));
}

TEST(AlgorithmText, AnUnknownNameIsToldWithTheOperationsThatHaveIt) {
  EXPECT_EQ(
      algorithm_from_text(Operation::allgather, "k_nomial(degree=4)").problem,
      "there is no algorithm 'k_nomial' for allgather; barrier, bcast, reduce, gather, scatter, gatherv and "
      "scatterv have it (`unisono list allgather` names them)");
}

}  // namespace
}  // namespace unisono::tuning
