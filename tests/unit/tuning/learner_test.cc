// SPDX-License-Identifier: BSD-3-Clause
// Learning with times that the tests make up: what is chosen, after how many calls, and at what cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "learner_program.h"

namespace unisono::tuning {
namespace {

TEST(TimeNumber, KeepsTimesAndTheirOrder) {
  for (const bool is_longest : {false, true}) {
    EXPECT_EQ(time_of(time_number(unknown_s, is_longest), is_longest), unknown_s);
    EXPECT_EQ(time_of(time_number(-1, is_longest), is_longest), unknown_s);
    for (const double time_s : {0.0, 61e-9, 1e-3, 100.0})
      EXPECT_NEAR(time_of(time_number(time_s, is_longest), is_longest), time_s, 1e-10 + time_s * 1e-9);
  }
  // The least number is the shortest time, or the longest one; who knows none has no say.
  EXPECT_LT(time_number(1e-6, false), time_number(2e-6, false));
  EXPECT_LT(time_number(2e-6, true), time_number(1e-6, true));
  EXPECT_LT(time_number(1e3, false), time_number(unknown_s, false));
  EXPECT_LT(time_number(0, true), time_number(unknown_s, true));
}

// The repositories and groups of the source (section 3.3), the algorithm that it found, and how many calls
// Measure_Select took of each scheme (table 1).
struct Table1 {
  const char* name;
  std::vector<std::string> groups;
  int best;
  std::uint64_t basic, enhanced;
};

TEST(StarTest, TakesAsManyCallsAsTheSource) {
  const std::vector<std::string> alltoall = {"simple",  "ring",    "ring",     "light",   "light",
                                             "barrier", "barrier", "topology", "topology"};
  const std::vector<std::string> allgather = {"simple", "log",   "log",   "log",     "log",     "ring",
                                              "ring",   "light", "light", "barrier", "barrier", "topology"};
  std::vector<std::string> allreduce(20, "rab2");
  std::fill_n(allreduce.begin(), 14, "rab1");
  std::fill_n(allreduce.begin(), 5, "allgather-reduce");
  for (const Table1& row :
       {Table1{"alltoall 2KB", alltoall, 0, 90, 50}, Table1{"alltoall 128KB", alltoall, 3, 90, 60},
        Table1{"allgather 2KB", allgather, 0, 120, 60}, Table1{"allgather 128KB", allgather, 11, 120, 60},
        Table1{"allreduce", allreduce, 6, 200, 110}}) {
    // The best one's group is better than all others.
    const Times times = [&](int k, std::uint64_t, int) {
      if (k == row.best) return unit_s;
      const auto at = [&](int i) { return row.groups[static_cast<std::size_t>(i)]; };
      return (at(k) == at(row.best) ? 1.5 : 3.0) * unit_s;
    };
    for (const bool has_groups : {false, true}) {
      Program program(Mode::star, of_groups(row.groups), {.has_groups = has_groups}, 2);
      program.run(1000, times);
      EXPECT_EQ(program.measured(), has_groups ? row.enhanced : row.basic) << row.name;
      EXPECT_EQ(program.candidate(), row.best) << row.name;
    }
  }
}

TEST(StarTest, WhatIsPredictedToBeSlowIsLeftOut) {
  std::vector<Candidate> candidates = of_groups({"native", "a", "a", "b", "b", "c"});
  // The model cannot say of the first one and of the last but one.
  for (std::size_t k = 1; k < candidates.size(); ++k)
    candidates[k].predict_s = [k] { return std::vector{0.0, 2.1, 1.0, 1.9, 0.0, 5.0}[k] * unit_s; };
  const Times times = constant({1, 0.1, 0.8, 0.9, 0.7, 0.1});
  const auto measured = [&](const LearnSettings& settings) {
    Program program(Mode::star, candidates, settings, 2);
    program.run(1000, times);
    std::vector<std::uint64_t> calls;
    for (int k = 0; k < 6; ++k) calls.push_back(program.learner().measured_calls(k));
    return std::pair(calls, program.candidate());
  };
  using Calls = std::vector<std::uint64_t>;
  EXPECT_EQ(measured({.prune = 1}).first, (Calls{10, 0, 10, 10, 10, 0}));
  EXPECT_EQ(measured({.prune = 1}).second, 4);
  // The second one of group a stands for it; b is the best group.
  EXPECT_EQ(measured({.has_groups = true, .prune = 1}).first, (Calls{10, 0, 10, 10, 0, 0}));
  EXPECT_EQ(measured({.has_groups = true, .prune = 1}).second, 2);
  EXPECT_EQ(measured({}).first, Calls(6, 10));
}

TEST(StarTest, AgreesLogarithmicallyOftenWhileAllIsWell) {
  Program program(Mode::star, of_groups({"a", "b"}), {.most_factor = 1 << 20}, 1);
  program.run(20, constant({1, 2}));
  for (std::uint64_t period = 20, agreements = 1; agreements < 8; period *= 2, ++agreements) {
    // Before the next call, which comes after so many.
    program.run(1, constant({1, 2}));
    EXPECT_EQ(program.learner().agreements(), agreements);
    program.run(period - 1, constant({1, 2}));
    EXPECT_EQ(program.learner().agreements(), agreements);
  }
}

TEST(StarTest, SwitchesWhenTheWholePeriodAndItsEndAreSlow) {
  Program program(Mode::star, of_groups({"a", "b", "c"}), {}, 3);
  program.run(100, constant({1, 2, 3}));
  ASSERT_EQ(program.candidate(), 0);
  // 10 % more than the second best is tolerated.
  program.run(1000, constant({2.15, 2, 3}));
  EXPECT_EQ(program.candidate(), 0);
  program.run(1300, constant({2.5, 2, 3}));
  EXPECT_EQ(program.candidate(), 1);
  EXPECT_FALSE(program.learner().events().back().is_trial);
}

TEST(StarTest, ADisturbanceThatHasPassedChangesNothing) {
  Program program(Mode::star, of_groups({"a", "b"}), {}, 1);
  program.run(21, constant({1, 2}));
  const std::uint64_t agreements = program.learner().agreements();
  program.run(9, constant({30, 2}));  // slow for half of the period of 20
  program.run(11, constant({1, 2}));
  EXPECT_EQ(program.learner().agreements(), agreements + 1);
  program.run(200, constant({1, 2}));
  EXPECT_EQ(program.candidate(), 0);
}

TEST(StarTest, AGroupThatWasNotMeasuredIsMeasuredFirst) {
  Program program(Mode::star, of_groups({"a", "a", "b", "b"}), {.has_groups = true}, 1);
  program.run(100, constant({1, 1.5, 2, 1.8}));
  ASSERT_EQ(program.candidate(), 0);
  EXPECT_EQ(program.learner().measured_calls(3), 0u);
  program.run(500, constant({4, 4, 2, 1.8}));
  EXPECT_EQ(program.learner().measured_calls(3), 10u);
  EXPECT_EQ(program.candidate(), 3);
}

TEST(LearnerTest, TheShortestRankIsNotMovedBySkew) {
  // Who comes early waits in the call: that is no time of the algorithm.
  std::mt19937 random(7);
  std::uniform_real_distribution<double> skew(0, 5);
  std::vector<double> late(4);
  std::uint64_t drawn_for = ~std::uint64_t{0};
  const Times times = [&](int k, std::uint64_t call, int rank) {
    if (call != drawn_for) {
      for (double& l : late) l = skew(random);
      drawn_for = call;
    }
    const double last = *std::max_element(late.begin(), late.end());
    return (k == 1 ? 0.9 : 1.0) * unit_s + (last - late[static_cast<std::size_t>(rank)]) * unit_s;
  };
  // Batches take as long as the program waits in them; what is compared are then the least times.
  Program guarded(Mode::guarded, of_groups({"native", "a", "b"}), {.trusts_least_times = true}, 4);
  guarded.run(20000, times);
  EXPECT_EQ(guarded.learner().policy().chosen(), 1);
}

TEST(LearnerTest, WhereRanksMayLeaveTheLongestOneCounts) {
  // Candidate 1 lets the root go at once, and the last rank wait.
  const Times times = [](int k, std::uint64_t, int rank) {
    if (k == 0) return unit_s;
    return (rank == 0 ? 0.01 : 2.0) * unit_s;
  };
  Program longest(Mode::guarded, of_groups({"a", "b"}), {}, 3, true);
  longest.run(5000, times);
  EXPECT_EQ(longest.candidate(), 0);
}

// The source's rule (figure 2, Dist_Time): of each call the mean over the ranks, and of these the least.
TEST(StarTest, TheLeastOverCallsOfTheMeanOverRanksDecides) {
  // Candidate 0 takes 1.5 everywhere. With candidate 1 the ranks take turns in finding everything ready,
  // while the others wait: some rank has 0.1 in each call, and the mean is 2.0 at least. Candidate 2 is as
  // good as its best call alone, 1.2 in the mean of 0.6 and 1.8; candidate 3 has means of 1.3, in all calls.
  const Times times = [](int k, std::uint64_t call, int rank) {
    const bool is_ready = (call + static_cast<std::uint64_t>(rank)) % 3 == 0;
    const double of_best_call = rank == 0 ? 0.6 : 1.5;
    return std::vector{1.5, is_ready ? 0.1 : 2.95, call % 10 == 4 ? of_best_call : 9.0,
                       1.3}[static_cast<std::size_t>(k)] *
           unit_s;
  };
  for (const bool is_longest : {false, true}) {
    Program program(Mode::star, of_groups({"a", "b", "c", "d"}), {}, 3, is_longest);
    program.run(41, times);
    const std::vector<double> expected = {1.5, 2.0, 1.2, 1.3};
    for (int k = 0; k < 4; ++k) {
      EXPECT_NEAR(program.learner().policy().time_s(k), expected[static_cast<std::size_t>(k)] * unit_s,
                  1e-3 * unit_s)
          << k;
    }
    EXPECT_EQ(program.learner().policy().chosen(), 2);
    EXPECT_EQ(program.learner().agreements(), 1u) << "one agreement at the end of Measure_Select";
    EXPECT_FALSE(program.learner().is_next_aligned()) << "and no barrier";
  }
}

TEST(StarTest, WhatIsWatchedIsTheMeanOverCallsAndRanks) {
  // One rank alone becomes slow: the mean of 0.5, 0.5 and 5.3 is 2.1, which is tolerated beside 2, and that
  // of 0.5, 0.5 and 5.9 is not.
  Program program(Mode::star, of_groups({"a", "b"}), {}, 3);
  program.run(100, constant({1, 2}));
  const auto one_slow = [](double units) {
    return [units](int k, std::uint64_t, int rank) {
      return (k == 1 ? 2.0 : rank == 2 ? units : 0.5) * unit_s;
    };
  };
  program.run(2000, one_slow(5.3));
  EXPECT_EQ(program.candidate(), 0);
  program.run(2600, one_slow(5.9));
  EXPECT_EQ(program.candidate(), 1);
}

TEST(StarTest, CallsOfWhichSomeRankHasNoTimeSayNothing) {
  // Rank 1 is in another region: in the first trial of candidate 1, and in some calls of candidate 0.
  const Times times = [](int k, std::uint64_t call, int rank) {
    if (rank == 1 && ((k == 1 && call < 20) || (k == 0 && call % 2 == 0))) return -1.0;
    return std::vector{call % 2 == 0 ? 0.1 : 2.0, 1.0}[static_cast<std::size_t>(k)] * unit_s;
  };
  Program program(Mode::star, of_groups({"a", "b"}), {}, 2);
  program.run(31, times);
  EXPECT_NEAR(program.learner().policy().time_s(0), 2 * unit_s, 1e-3 * unit_s);
  EXPECT_NEAR(program.learner().policy().time_s(1), unit_s, 1e-3 * unit_s);
  EXPECT_EQ(program.learner().measured_calls(1), 20u);
  EXPECT_EQ(program.candidate(), 1);
  // Never: it is not chosen, and not tried for ever.
  Program never(Mode::star, of_groups({"a", "b"}), {}, 2);
  never.run(500, [](int k, std::uint64_t, int rank) { return k == 1 && rank == 1 ? -1.0 : unit_s; });
  EXPECT_EQ(never.candidate(), 0);
  EXPECT_EQ(never.learner().measured_calls(1), 30u);
}

TEST(LearnerTest, SumsOfTheLongestTimesOfAMillionRanksFit) {
  Learner learner(1, {.iterations = 1}, make_star_policy(of_groups({"a"}), {.iterations = 1}), false);
  learner.look(1e9, 1);
  const std::uint64_t most = learner.sums().at(1);
  EXPECT_LE(most, std::uint64_t{1} << 42);
  std::vector<LeastAndSum> a = {{3, 5}, {7, most}}, b = {{4, 6}, {2, most}};
  join_least_and_sum(a.data(), a.data(), b.data(), 2);
  EXPECT_EQ(a[0].least, 3u);
  EXPECT_EQ(a[0].sum, 11u);
  EXPECT_EQ(a[1].least, 2u);
  EXPECT_EQ(a[1].sum, 2 * most);
}

TEST(LearnerTest, QuickCallsAreLookedAtNowAndThen) {
  for (const auto& [time_s, interval] : {std::pair{0.1e-6, 64u}, {20e-6, 16u}, {1e-3, 1u}}) {
    Program program(Mode::star, of_groups({"a", "b"}), {}, 1);
    program.run(30, [time = time_s](int, std::uint64_t, int) { return time; });
    EXPECT_EQ(program.learner().interval(), interval);
  }
}

TEST(LearnerTest, WhatTrialsLostIsKept) {
  Program star(Mode::star, of_groups({"a", "b", "c"}), {}, 2);
  star.run(100, constant({2, 1, 3}));
  EXPECT_NEAR(star.learner().trial_loss_s(), 30 * unit_s, 0.1 * unit_s);
  // Where the program changes, what was seen of others is forgotten: not what seeing it has cost.
  Program guarded(Mode::guarded, of_groups({"native", "a"}), {}, 2);
  guarded.run(5000, constant({2, 1.6}));
  const double before_s = guarded.learner().trial_loss_s();
  EXPECT_GT(before_s, 0.5 * unit_s);
  guarded.run(20000, constant({20, 10}));
  EXPECT_GE(guarded.learner().trial_loss_s(), before_s);
}

// What serves without learning serves from the first call on; the reference is tried when that is earned.
TEST(GuardedTest, WhatIsUsedWithoutLearningServesUntilATrialIsEarned) {
  Program program(Mode::guarded, of_groups({"native", "a", "b", "b"}), {}, 2);
  program.run(200, constant({2, 1, 3, 3}));
  EXPECT_EQ(program.learner().events().size(), 1u);
  EXPECT_EQ(program.learner().events()[0].candidate, 1);
  EXPECT_EQ(program.measured(), 0u);
  program.run(2000, constant({2, 1, 3, 3}));
  const std::vector<Event>& events = program.learner().events();
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[1].candidate, 0);
  EXPECT_TRUE(events[1].is_trial);
  EXPECT_GE(events[1].call, 400u) << "two calls that may take three times as long, of which 1 % pays";
  EXPECT_EQ(program.candidate(), 1);
  Program faster(Mode::guarded, of_groups({"native", "a", "b", "b"}), {}, 2);
  faster.run(2000, constant({1, 2, 3, 3}));
  EXPECT_EQ(faster.candidate(), 0);
}

TEST(GuardedTest, OneOfEachGroupAndTheRestOfThoseThatDoWell) {
  Program program(Mode::guarded, of_groups({"native", "a", "b", "b", "b", "c", "c", "c"}), {}, 1);
  program.run(20000, constant({2, 1.5, 1.4, 1.0, 1.2, 3, 0.1, 0.1}));
  EXPECT_EQ(program.candidate(), 3);
  EXPECT_EQ(program.learner().measured_calls(6), 0u);
  EXPECT_EQ(program.learner().measured_calls(7), 0u);
}

TEST(GuardedTest, WhatIsPredictedToBeSlowIsNeverTried) {
  std::vector<Candidate> candidates = of_groups({"native", "a", "b", "c", "d"});
  for (std::size_t k = 1; k < candidates.size(); ++k)
    candidates[k].predict_s = [k] { return std::vector{0.0, 1.0, 2.9, 3.1, 0.8}[k] * unit_s; };
  Program program(Mode::guarded, candidates, {}, 1);
  program.run(50000, constant({1, 1, 2.9, 0.1, 0.7}));
  EXPECT_EQ(program.learner().measured_calls(3), 0u);
  EXPECT_GT(program.learner().measured_calls(2), 0u);
  EXPECT_EQ(program.candidate(), 4);
}

TEST(GuardedTest, WhatAnEarlierJobLearnedIsUsedAtOnce) {
  std::vector<Candidate> candidates = of_groups({"native", "a", "b"});
  candidates[0].known_s = 2 * unit_s;
  candidates[2].known_s = unit_s;
  candidates[2].chosen_by = "learned by an earlier job";
  Program program(Mode::guarded, candidates, {}, 1);
  EXPECT_EQ(program.candidate(), 2);
  EXPECT_EQ(program.learner().events().front().why, "learned by an earlier job");
  // And left where it does not hold any more.
  program.run(1000, constant({1, 3, 3}));
  EXPECT_EQ(program.learner().policy().chosen(), 0);
}

// The bound (B2), whatever the candidates' times are, and after however many calls. Against what would be
// used without learning, the program loses at most two things together. One is the budget's share of its time
// in collectives. The other is by how much the first calls of one trial take longer than was assumed.
TEST(GuardedTest, TheLossIsBoundedByTheBudgetAndOneTrial) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> exponent(-1, 2);  // 0.1 to 100 times the reference
    std::uniform_real_distribution<double> noise(1, seed % 2 == 0 ? 1.0 : 1.02);
    std::uniform_int_distribution<int> group(0, 4);
    std::vector<double> units = {1};
    std::vector<Candidate> candidates = of_groups({"native"});
    const int count = 2 + static_cast<int>(seed % 20);
    for (int k = 1; k < count; ++k) {
      units.push_back(std::pow(10, exponent(random)));
      candidates.push_back({.group = std::to_string(group(random))});
    }
    const LearnSettings settings;
    Program program(Mode::guarded, candidates, settings, 1);
    program.compared_with = 1;
    const Times times = [&](int k, std::uint64_t, int) {
      return units[static_cast<std::size_t>(k)] * noise(random) * unit_s;
    };
    const double worst_trial_s = 2 * *std::ranges::max_element(units) * unit_s;
    for (int part = 0; part < 100; ++part) {
      program.run(200, times);
      const double loss_s = program.total_s - program.reference_s;
      // Two draws of the noise differ.
      const double noise_s = (seed % 2) * 0.02 * units[1] * unit_s * static_cast<double>(program.call());
      ASSERT_LE(loss_s, settings.budget_share * program.total_s + worst_trial_s + noise_s + 1e-12)
          << "seed " << seed << " after " << program.call() << " calls";
    }
    EXPECT_LE(units[static_cast<std::size_t>(program.learner().policy().chosen())], 1.04) << "seed " << seed;
  }
}

TEST(GuardedTest, WithoutABudgetNothingIsTried) {
  Program program(Mode::guarded, of_groups({"native", "a", "b"}), {.budget_share = 0}, 1);
  program.run(5000, constant({2, 1, 0.5}));
  EXPECT_EQ(program.measured(), 0u);
  EXPECT_EQ(program.candidate(), 1);
}

TEST(GuardedTest, BetweenEqualsWhatIsUsedStays) {
  for (const double units : {0.98, 1.0, 1.02}) {
    Program program(Mode::guarded, of_groups({"native", "a", "b"}), {}, 1);
    program.run(3000, constant({units, 1, 1}));
    EXPECT_EQ(program.learner().policy().chosen(), 1) << units;
  }
  Program faster(Mode::guarded, of_groups({"native", "a", "b"}), {}, 1);
  faster.run(3000, constant({0.95, 1, 1}));
  EXPECT_EQ(faster.learner().policy().chosen(), 0);
}

TEST(GuardedTest, FirstCallsThatMeetColdMemoryDoNotDecide) {
  // The first 15 calls of a candidate take twice as long.
  std::vector<int> calls(3);
  Program program(Mode::guarded, of_groups({"native", "a", "b"}), {}, 1);
  program.run(2000, [&](int k, std::uint64_t, int) {
    const bool is_cold = k == 1 && ++calls[1] <= 15;
    return std::vector{2.0, is_cold ? 3.0 : 1.5, 4.0}[static_cast<std::size_t>(k)] * unit_s / 10;
  });
  EXPECT_EQ(program.learner().policy().chosen(), 1);
}

TEST(GuardedTest, AChoiceThatTurnsBadIsLeft) {
  const LearnSettings settings;
  Program program(Mode::guarded, of_groups({"native", "a", "b"}), settings, 2);
  program.run(100000, constant({2, 1, 1.5}));
  ASSERT_EQ(program.candidate(), 1);
  // At most two periods of the longest kind: the first may have begun well.
  const std::uint64_t bound = 2 * longest_period(settings) + 200;
  const std::uint64_t before = program.call();
  while (program.learner().policy().chosen() == 1 && program.call() < before + bound)
    program.run(1, constant({2, 5, 6}));
  EXPECT_EQ(program.learner().policy().chosen(), 0);
  program.run(5000, constant({2, 5, 6}));
  EXPECT_EQ(program.candidate(), 0);
}

TEST(GuardedTest, WhereEverythingGetsSlowerTheChoiceStays) {
  Program program(Mode::guarded, of_groups({"native", "a", "b", "c"}), {}, 2);
  program.run(50000, constant({2, 1, 1.8, 5}));
  program.run(50000, constant({30, 15, 27, 75}));
  EXPECT_EQ(program.learner().policy().chosen(), 1);
}

// The network gets slower in the middle of a run: another algorithm is the best then.
TEST(GuardedTest, AProgramThatChangesIsLearnedAnew) {
  const LearnSettings settings;
  Program program(Mode::guarded, of_groups({"native", "a", "b", "c"}), settings, 3);
  program.run(50000, constant({2, 1, 1.8, 5}));
  ASSERT_EQ(program.candidate(), 1);
  const std::uint64_t before = program.call();
  const Times slower = constant({20, 15, 6, 9});
  while (program.learner().policy().chosen() != 2 && program.call() < before + 20000) program.run(1, slower);
  EXPECT_LE(program.call() - before, 2 * longest_period(settings) + 400);
  program.run(20000, slower);
  EXPECT_EQ(program.candidate(), 2);
  // And back.
  program.run(50000, constant({2, 1, 1.8, 5}));
  EXPECT_EQ(program.learner().policy().chosen(), 1);
}

TEST(GuardedTest, AnotherThatBecameFasterIsFoundWhenAllIsCalm) {
  Program program(Mode::guarded, of_groups({"native", "a"}), {}, 1);
  program.run(2000, constant({1.5, 1}));
  ASSERT_EQ(program.candidate(), 1);
  program.run(20000, constant({0.5, 1}));
  EXPECT_EQ(program.learner().policy().chosen(), 0);
}

TEST(GuardedTest, EachChangeHasAReasonOfItsOwn) {
  Program program(Mode::guarded, of_groups({"native", "a", "b", "c"}), {}, 1);
  program.run(200000, constant({4, 2, 1, 2.5}));
  int returns = 0, wins = 0;
  for (const Event& event : program.learner().events()) {
    if (event.is_trial || event.candidate != 2) continue;
    ++returns;
    wins += event.why.find("times as fast") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(wins, 1) << "it was chosen once";
  EXPECT_GT(returns, 1) << "and kept after later trials";
}

TEST(GuardedTest, RanksAgreeWhateverTheirTimesAre) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(1e-7, 1e-4);
  Program program(Mode::guarded, of_groups({"native", "a", "a", "b", "c", "c"}), {}, 5);
  program.run(30000, [&](int, std::uint64_t, int) { return time(random); });
  Program star(Mode::star, of_groups({"native", "a", "a", "b", "c", "c"}), {.has_groups = true}, 5);
  star.run(30000, [&](int, std::uint64_t, int) { return time(random); });
}

}  // namespace
}  // namespace unisono::tuning
