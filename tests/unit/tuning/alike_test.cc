// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned on one communicator, and how the next one alike begins with it.
#include "tuning/alike.h"

#include <gtest/gtest.h>

#include "learner_program.h"
#include "questions.h"

namespace unisono::tuning {
namespace {

CandidateList list_of(const std::vector<std::string>& names) {
  CandidateList list;
  for (const std::string& name : names) {
    Choice choice;
    if (name != "native") {
      choice.algorithm = algorithms::find(Operation::allreduce, name);
      choice.parameters = algorithms::with_standards(*choice.algorithm);
    }
    list.choices.push_back(choice);
    list.candidates.push_back({.group = name});
  }
  return list;
}

TEST(AlikeTest, KindsAreWhatRulesAreMatchedBy) {
  const Kind kind = kind_of(question(Operation::allreduce, "2x4", 1024));
  EXPECT_EQ(kind, kind_of(question(Operation::allreduce, "2x4", 1000))) << "a size class";
  EXPECT_NE(kind, kind_of(question(Operation::allreduce, "2x4", 1025)));
  EXPECT_NE(kind, kind_of(question(Operation::allgather, "2x4", 1024)));
  for (const char* other : {"8", "4x2", "2x4/cyclic", "4,3"})
    EXPECT_NE(kind, kind_of(question(Operation::allreduce, other, 1024))) << other;
  EXPECT_NE(kind_of(question(Operation::allreduce, "4,3,4", 8)),
            kind_of(question(Operation::allreduce, "3x4", 8)));
  Question asked = question(Operation::allreduce, "2x4", 1024);
  asked.region = "solve";
  EXPECT_NE(kind, kind_of(asked));
  asked = question(Operation::allreduce, "2x4", 1024);
  asked.problem.is_commutative = !asked.problem.is_commutative;
  EXPECT_NE(kind, kind_of(asked));
  asked = question(Operation::allreduce, "2x4", 1024);
  asked.is_oversubscribed = !asked.is_oversubscribed;
  EXPECT_NE(kind, kind_of(asked));
}

TEST(AlikeTest, TheLastFindingIsKeptAsLongAsTheJobLives) {
  Findings findings;
  const Kind kind{.operation = Operation::bcast}, other{.operation = Operation::bcast, .ranks = 2};
  EXPECT_FALSE(findings.is_being_learned(kind));
  auto learner = findings.begin(kind);
  EXPECT_TRUE(findings.is_being_learned(kind));
  EXPECT_FALSE(findings.is_being_learned(other));
  EXPECT_FALSE(findings.find(kind).has_value());
  findings.keep(
      kind, {.measured = {{.algorithm = digest_of("native"), .time_s = 1}}, .chosen = digest_of("native")});
  findings.keep(kind,
                {.measured = {{.algorithm = digest_of("ring"), .time_s = 1}}, .chosen = digest_of("ring")});
  learner.reset();
  EXPECT_FALSE(findings.is_being_learned(kind)) << "its communicator is gone";
  ASSERT_TRUE(findings.find(kind).has_value());
  EXPECT_EQ(findings.find(kind)->chosen, digest_of("ring"));
}

TEST(AlikeTest, RanksOfANodeKnowWhatOthersHaveTold) {
  const auto board = std::make_unique<shm::Board>();
  Findings one, other;
  one.use_board(board.get());
  other.use_board(board.get());
  const Kind kind{.operation = Operation::bcast};
  auto learner = one.begin(kind);
  EXPECT_TRUE(other.is_being_learned(kind));
  one.keep(kind, {.measured = {{digest_of("native"), 2, 0.1}}, .chosen = digest_of("native")});
  EXPECT_FALSE(other.find(kind)) << "not told";
  Finding found{.chosen = digest_of("ring")};
  for (int k = 0; k < 100; ++k) found.measured.push_back({digest_of(std::to_string(k)), 1.0 + k, 0.2});
  found.measured.push_back({digest_of("ring"), 0.5, 0.25});
  one.keep(kind, found, true);
  const std::optional<Finding> known = other.find(kind);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->chosen, digest_of("ring"));
  EXPECT_EQ(known->measured[0].algorithm, digest_of("ring")) << "whatever finds no room";
  EXPECT_EQ(known->measured[0].time_s, 0.5);
  EXPECT_EQ(known->measured[0].uncertainty, 0.25);
  EXPECT_EQ(known->measured[1].time_s, 1.0);
  EXPECT_FALSE(other.find({.operation = Operation::bcast, .ranks = 2}));
  // What other ranks say does not count against what this one has seen.
  auto own = other.begin(kind);
  other.keep(kind, {.measured = {{digest_of("fused"), 1, 0.1}}, .chosen = digest_of("fused")});
  EXPECT_EQ(other.find(kind)->chosen, digest_of("fused"));
  own.reset();
  one.leave_board();
  learner.reset();
  EXPECT_TRUE(other.is_being_learned(kind)) << "who has left says nothing more";
}

TEST(AlikeTest, WhatOneRankTellsBecomesKnown) {
  const CandidateList of_teller = list_of({"native", "fused", "ring", "recursive_doubling"});
  const Finding finding{.measured = {{digest_of("native"), 3e-6, 0.1},
                                     {digest_of(of_teller.choices[2].text()), 1e-6, 0.2},
                                     {digest_of("ring(segment=12345)"), 9e-6, 0.3},
                                     {digest_of("gone"), 1e-9, 0.1}},
                        .chosen = digest_of(of_teller.choices[2].text())};
  std::vector<std::uint64_t> agreed = numbers_to_tell(&finding, of_teller);
  const std::vector<std::uint64_t> nothing = numbers_to_tell(nullptr, of_teller);
  ASSERT_EQ(agreed.size(), nothing.size());
  for (std::size_t i = 0; i < agreed.size(); ++i) agreed[i] = std::min(agreed[i], nothing[i]);
  CandidateList list = of_teller;
  list.candidates[1].chosen_by = "learned by an earlier job";
  list.candidates[1].known_s = 5e-6;
  take_told(agreed, &list);
  EXPECT_TRUE(list.candidates[0].is_of_this_job);
  EXPECT_NEAR(list.candidates[0].known_s, 3e-6, 1e-10);
  EXPECT_NEAR(list.candidates[2].known_s, 1e-6, 1e-10);
  EXPECT_NEAR(list.candidates[2].uncertainty, 0.2, 1e-9);
  EXPECT_FALSE(list.candidates[2].chosen_by.empty());
  EXPECT_TRUE(list.candidates[1].chosen_by.empty()) << "this job knows better";
  EXPECT_FALSE(list.candidates[1].is_of_this_job);
  EXPECT_FALSE(list.candidates[3].is_of_this_job);
  // What was chosen there may not be used here: what an earlier job has learned stands.
  CandidateList without = list_of({"native", "fused"});
  without.candidates[1].chosen_by = "learned by an earlier job";
  take_told(numbers_to_tell(&finding, without), &without);
  EXPECT_FALSE(without.candidates[1].chosen_by.empty());
}

// Programs on communicators alike, with made-up times.
class NextCommunicator : public ::testing::Test {
 protected:
  static constexpr std::uint64_t calls = 30000;

  std::vector<Candidate> known_from(const Program& program) const {
    std::vector<Candidate> candidates = candidates_;
    const Policy& policy = program.learner().policy();
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const auto candidate = static_cast<int>(k);
      if (!policy.is_measured(candidate) || policy.time_s(candidate) == unknown_s) continue;
      candidates[k].known_s = policy.time_s(candidate);
      candidates[k].uncertainty = policy.uncertainty(candidate);
      candidates[k].is_of_this_job = true;
      if (candidate == policy.chosen()) candidates[k].chosen_by = "another";
    }
    return candidates;
  }

  std::vector<Candidate> candidates_ = of_groups({"native", "a", "b", "c", "d", "e", "f", "g"});
};

TEST_F(NextCommunicator, MakesFarFewerTrials) {
  const Times times = constant({2, 1.5, 1, 1.3, 1.1, 1.4, 2, 1.2});
  Program first(Mode::guarded, candidates_, {}, 2);
  first.run(calls, times);
  ASSERT_EQ(first.learner().policy().chosen(), 2);
  ASSERT_GT(first.measured(), 100u);
  std::uint64_t measured = first.measured();
  std::vector<Candidate> known = known_from(first);
  for (int row = 1; row < 4; ++row) {
    Program next(Mode::guarded, known, {}, 2);
    EXPECT_EQ(next.candidate(), 2) << "from the first call on";
    EXPECT_EQ(next.learner().events().front().why, "another");
    next.run(1000, times);
    EXPECT_GT(next.measured(), 0u) << "compared with what is used without learning once more";
    EXPECT_LE(3 * next.measured(), first.measured());
    EXPECT_EQ(next.candidate(), 2);
    measured += next.measured();
    known = known_from(next);
  }
  EXPECT_LE(measured, 2 * first.measured()) << "of four, where each by itself would make as many";
}

TEST_F(NextCommunicator, WhereRanksWaitForLongerNothingIsLearnedAnew) {
  const Times times = constant({2, 1.5, 1, 1.3, 1.1, 1.4, 2, 1.2});
  Program first(Mode::guarded, candidates_, {}, 2);
  first.run(calls, times);
  Program next(Mode::guarded, known_from(first), {}, 2);
  next.run(calls / 3, [&](int k, std::uint64_t call, int rank) { return 10 * times(k, call, rank); });
  EXPECT_EQ(next.learner().policy().chosen(), 2);
  EXPECT_LE(2 * next.measured(), first.measured());
}

TEST_F(NextCommunicator, LeavesAChoiceThatIsSlowerThere) {
  Program first(Mode::guarded, candidates_, {}, 2);
  first.run(calls, constant({2, 1.5, 1, 3, 3, 3, 3, 3}));
  ASSERT_EQ(first.learner().policy().chosen(), 2);
  for (const auto& [units, best] : {std::pair{std::vector<double>{2, 1.5, 4, 8, 8, 8, 8, 8}, 1},
                                    std::pair{std::vector<double>{1, 1.5, 4, 8, 8, 8, 8, 8}, 0}}) {
    Program next(Mode::guarded, known_from(first), {}, 2);
    next.run(calls, constant(units));
    EXPECT_EQ(next.learner().policy().chosen(), best);
  }
  // And one that was believed not to be worth a change.
  Program native(Mode::guarded, candidates_, {}, 2);
  native.run(calls, constant({1, 1.5, 3, 3, 3, 3, 3, 3}));
  ASSERT_EQ(native.learner().policy().chosen(), 0);
  Program next(Mode::guarded, known_from(native), {}, 2);
  next.run(calls, constant({2, 1, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(next.learner().policy().chosen(), 1);
}

}  // namespace
}  // namespace unisono::tuning
