// SPDX-License-Identifier: BSD-3-Clause
// What the options of learning change, in whole jobs (S2-S4, B7).
#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "learning_program.h"

namespace unisono::runtime::learning_options_test {
namespace {

constexpr int size = 4;

class LearningOptionsTest : public LearningTest {
 protected:
  LearningOptionsTest() {
    options_.learn = "star";
    options_.learn_iterations = 1;
  }

  // Of small allreduces: which algorithms were measured at all.
  std::size_t measured() {
    run_jobs(size, [](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, size};
      for (int i = 0; i < 200; ++i) me.call(Operation::allreduce, 3);
    });
    std::size_t count = 0;
    const Json learned = report()["learning"][0];
    for (const Json& candidate : learned["candidates"]) count += candidate["measured_calls"] > 0 ? 1 : 0;
    return count;
  }
};

TEST_F(LearningOptionsTest, OfGroupsOneAlgorithmEachIsMeasuredFirst) {
  const std::size_t all = measured();
  options_.learn_groups = true;
  const std::size_t grouped = measured();
  EXPECT_GT(grouped, 1u);
  EXPECT_LT(grouped, all);
}

TEST_F(LearningOptionsTest, WhatIsPredictedToBeSlowIsPruned) {
  options_.machine = "typical";
  const std::size_t all = measured();
  std::map<double, std::size_t> pruned;
  for (const double percent : {10.0, 300.0}) {
    options_.learn_prune = percent;
    pruned[percent] = measured();
  }
  EXPECT_GE(pruned[10], 1u);
  EXPECT_LT(pruned[10], pruned[300]);
  EXPECT_LT(pruned[300], all);
}

// The host's collective is the fastest at first, and takes longer and longer: at which time is it left, in
// times of the second best?
TEST_F(LearningOptionsTest, WhatIsInUseIsLeftBeyondTheTolerance) {
  constexpr double growth = 1.2;
  constexpr int calls = 256;  // some of them are timed
  const auto left_at = [&](double percent) {
    options_.learn_tolerance = percent;
    double left_s = 0;
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, size};
      for (int i = 0; i < 200; ++i) me.call(Operation::allreduce, 3, true, 1e-8);
      double native_s = 1e-8;
      for (bool is_left = false; !is_left && native_s < 1e6; native_s *= growth) {
        for (int i = 0; i < calls && !is_left; ++i)
          is_left = me.call(Operation::allreduce, 3, true, native_s) == Outcome::done;
      }
      EXPECT_LT(native_s, 1e6) << "it was never left";
      if (rank == 0) left_s = native_s / growth;
    });
    double second_s = std::numeric_limits<double>::max();
    const Json learned = report()["learning"][0];
    for (const Json& candidate : learned["candidates"]) {
      if (candidate["algorithm"] != "native" && !candidate["time_s"].is_null())
        second_s = std::min(second_s, candidate["time_s"].get<double>());
    }
    return left_s / second_s;
  };
  const double of_10 = left_at(10), of_1000 = left_at(1000);
  EXPECT_GE(of_10, 1.1 / growth);
  EXPECT_LT(of_10, 11 / growth);
  EXPECT_GE(of_1000, 11 / growth);
}

}  // namespace
}  // namespace unisono::runtime::learning_options_test
