// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/call/call_times.h"

#include <gtest/gtest.h>

namespace unisono::runtime::call_times_test {
namespace {

constexpr double short_s = 1e-6, late_s = 20e-3;

TEST(CallTimesTest, WhatWasTimedIsAddedUp) {
  CallTimes times;
  for (int i = 1; i <= 4; ++i) times.add(i * short_s);
  const CallTimes::Sum sum = times.of(4);
  EXPECT_DOUBLE_EQ(sum.measured_s, 10 * short_s);
  EXPECT_EQ(sum.estimated_s, 0);
  EXPECT_EQ(sum.error_s, 0);
}

TEST(CallTimesTest, OfCallsThatWereNeverTimedNothingIsSaid) {
  const CallTimes::Sum sum = CallTimes().of(100);
  EXPECT_EQ(sum.measured_s + sum.estimated_s + sum.error_s, 0);
}

TEST(CallTimesTest, CallsThatAreAlikeAreExtrapolatedWithoutAnError) {
  CallTimes times;
  for (int i = 0; i < 100; ++i) times.add(short_s);
  const CallTimes::Sum sum = times.of(1000);
  EXPECT_NEAR(sum.measured_s, 100 * short_s, 1e-12);
  EXPECT_NEAR(sum.estimated_s, 900 * short_s, 1e-12);
  EXPECT_LT(sum.error_s, short_s);
}

TEST(CallTimesTest, OneLateCallCountsOnceAndWidensTheError) {
  CallTimes times;
  for (int i = 0; i < 99; ++i) times.add(short_s);
  times.add(late_s);
  const CallTimes::Sum sum = times.of(5000);
  EXPECT_NEAR(sum.measured_s, late_s + 99 * short_s, 1e-9);
  EXPECT_NEAR(sum.estimated_s, 4900 * short_s, 1e-9);
  EXPECT_GT(sum.error_s, 40 * late_s) << "as if all others had as many late ones";
}

TEST(CallTimesTest, CallsOfManyLengthsAreEstimatedByTheirMean) {
  CallTimes times;
  double mean_s = 0;
  for (int i = 0; i < 1000; ++i) {
    const double seconds = short_s * (1 + i % 10);
    times.add(seconds);
    mean_s += seconds / 1000;
  }
  const CallTimes::Sum sum = times.of(2000);
  EXPECT_NEAR(sum.estimated_s, 1000 * mean_s, 0.1 * 1000 * mean_s);
  EXPECT_LT(sum.error_s, 0.2 * sum.estimated_s);
}

TEST(CallTimesTest, LongWaitsAreKnownOfAllCalls) {
  CallTimes times;
  for (int i = 0; i < 50; ++i) times.add(short_s);
  times.add(late_s + short_s, late_s);
  for (int i = 0; i < 9; ++i) times.add_waits(late_s);
  const CallTimes::Sum sum = times.of(5000);
  EXPECT_NEAR(sum.measured_s, 10 * late_s + 51 * short_s, 1e-9);
  EXPECT_NEAR(sum.estimated_s, 4949 * short_s, 1e-9);
  EXPECT_LT(sum.error_s, late_s);
}

TEST(CallTimesTest, TimesOfAnyLengthAreTaken) {
  CallTimes times;
  for (const double seconds : {0.0, 1e-12, 1e-9, 1.0, 1e3, 1e9}) times.add(seconds);
  EXPECT_GE(times.of(12).estimated_s, 0);
}

}  // namespace
}  // namespace unisono::runtime::call_times_test
