// SPDX-License-Identifier: BSD-3-Clause
// Which of two is faster, beyond noise.
#include "tuning/learning/comparison.h"

#include <gtest/gtest.h>

#include <random>

namespace unisono::tuning {
namespace {

// Rounds in which one batch takes 1, and the other one so many times as long; no call waits for others.
std::vector<Round> rounds(const std::vector<double>& ratios) {
  std::vector<Round> made;
  for (const double ratio : ratios)
    made.push_back({.best_s = 1, .best_least_s = 1, .other_s = ratio, .other_least_s = ratio});
  return made;
}
Verdict verdict(const std::vector<double>& ratios) {
  return verdict_of(rounds(ratios), true);
}

TEST(ComparisonTest, AWinHasToComeAgain) {
  EXPECT_EQ(verdict({0.5}), Verdict::open);
  EXPECT_EQ(verdict({0.5, 0.5}), Verdict::won);
  EXPECT_EQ(verdict({0.9, 0.9}), Verdict::open);
  EXPECT_EQ(verdict({0.9, 0.9, 0.9}), Verdict::won);
}

TEST(ComparisonTest, OneBadRoundIsForgivenWhereFourAreGood) {
  EXPECT_EQ(verdict({0.9, 1.1, 0.9}), Verdict::open);
  EXPECT_EQ(verdict({0.9, 1.1, 0.9, 0.9, 0.9}), Verdict::won);
  EXPECT_EQ(verdict({0.9, 1.1, 0.9, 1.0}), Verdict::lost);
}

TEST(ComparisonTest, EqualsAndWhatIsSlowerLose) {
  EXPECT_EQ(verdict({1.3}), Verdict::lost);
  EXPECT_EQ(verdict({1.0, 1.0}), Verdict::lost);
  EXPECT_EQ(verdict({0.98, 0.98}), Verdict::lost);
}

TEST(ComparisonTest, WhatIsDecidedInTheEnd) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> ratio(0.8, 1.2);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> ratios = {ratio(random)};
    while (verdict(ratios) == Verdict::open) {
      ratios.push_back(ratio(random));
      ASSERT_LE(ratios.size(), 6u);
    }
  }
}

TEST(ComparisonTest, EqualsSeldomWinByNoise) {
  std::mt19937 random(6);
  std::normal_distribution<double> noise(1, 0.05);
  int won = 0;
  constexpr int trials = 10'000;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> ratios;
    Verdict reached = Verdict::open;
    while (reached == Verdict::open) {
      ratios.push_back(noise(random) / noise(random));
      reached = verdict(ratios);
    }
    won += reached == Verdict::won ? 1 : 0;
  }
  EXPECT_LT(won, trials / 10);
}

// Ranks come late by chance, so that batches are mostly waiting.
TEST(ComparisonTest, BehindWaitingTheLeastTimesDecide) {
  const auto waiting = [](const std::vector<double>& ratios, double least_ratio) {
    std::vector<Round> made;
    for (const double ratio : ratios)
      made.push_back({.best_s = 10, .best_least_s = 1, .other_s = 10 * ratio, .other_least_s = least_ratio});
    return made;
  };
  EXPECT_EQ(verdict_of(waiting({0.8, 1.2, 1.1}, 0.7), true), Verdict::won);
  EXPECT_EQ(verdict_of(waiting({0.8, 1.2, 1.1}, 1.0), true), Verdict::lost);
  // Not where ranks share cores, and not where the means are clear.
  EXPECT_EQ(verdict_of(waiting({0.8, 1.2, 1.1}, 0.7), false), Verdict::lost);
  EXPECT_EQ(verdict_of(waiting({1.1, 1.2, 1.1}, 0.7), true), Verdict::lost);
}

}  // namespace
}  // namespace unisono::tuning
