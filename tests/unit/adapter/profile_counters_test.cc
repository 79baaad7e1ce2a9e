// SPDX-License-Identifier: BSD-3-Clause
// Which calls a profile times, and what those stand for.
#include <gtest/gtest.h>

#include "adapter/profile/call_profile.h"
#include "adapter/profile/counters.h"

namespace unisono::adapter::profile {
namespace {

// Calls of one kind, one after another, with some computing before each.
class Calls {
 public:
  void make(int calls, std::uint64_t ticks_each) {
    for (int call = 0; call < calls; ++call) {
      now_ += computing;
      const std::uint64_t started = now_;
      now_ += ticks_each;
      if (sampler.left > 0) {
        --sampler.left;
        continue;
      }
      ++timed;
      sum += take_in(&sampler, started, now_, 15);
    }
  }

  static constexpr std::uint64_t computing = 1000;
  Sampler sampler;
  int timed = 0;
  std::uint64_t sum = 0;  // as the profile has it

 private:
  std::uint64_t now_ = 1'000'000;
};

std::uint64_t ticks_of(double ns) {
  return static_cast<std::uint64_t>(ns / tick_ns());
}

TEST(ProfileCounters, OneOfManyShortCallsIsTimed) {
  Calls calls;
  calls.make(16000, ticks_of(500));
  EXPECT_LT(calls.timed, 1100);
  EXPECT_NEAR(static_cast<double>(calls.sum), 16000.0 * ticks_of(500), 16.0 * ticks_of(500));
}

TEST(ProfileCounters, ACallThatWaitsDoesNotStandForOthersThatDoNot) {
  Calls calls;
  calls.make(16000, ticks_of(500));
  while (calls.sampler.left > 0) calls.make(1, ticks_of(500));
  const std::uint64_t before = calls.sum, wait = ticks_of(4e6);
  calls.make(1, wait);
  EXPECT_GE(calls.sum - before, wait);
  EXPECT_LE(calls.sum - before, wait + 16 * (Calls::computing + ticks_of(500)));
}

TEST(ProfileCounters, AllAreTimedForAWhileAfterOneThatWaits) {
  Calls calls;
  calls.make(1'000'000, ticks_of(500));
  while (calls.sampler.left > 0) calls.make(1, ticks_of(500));
  calls.make(1, ticks_of(30'000));
  const int before = calls.timed;
  calls.make(900, ticks_of(500));
  EXPECT_EQ(calls.timed - before, 900);
  calls.make(16000, ticks_of(500));
  EXPECT_LT(calls.timed - before, 2200);
}

}  // namespace
}  // namespace unisono::adapter::profile
