// SPDX-License-Identifier: BSD-3-Clause
#include "base/float_control.h"

#include <gtest/gtest.h>

#include <cfenv>

namespace unisono {
namespace {

// The compiler is to compute nothing ahead.
double add(double a, double b) {
  volatile double left = a, right = b;
  return left + right;
}
long double add_long(long double a, long double b) {
  volatile long double left = a, right = b;
  return left + right;
}

FloatControl rounding_upward() {
  std::fesetround(FE_UPWARD);
  const FloatControl control = FloatControl::of_this_thread();
  std::fesetround(FE_TONEAREST);
  return control;
}

TEST(FloatControlTest, ComputesAsAnotherThreadForAWhile) {
  const FloatControl upward = rounding_upward(), before = FloatControl::of_this_thread();
  EXPECT_FALSE(upward == before);
  {
    const FloatControlForNow now(upward);
    EXPECT_GT(add(1, 1e-30), 1);
    EXPECT_GT(add_long(1, 1e-30L), 1);
  }
  EXPECT_TRUE(FloatControl::of_this_thread() == before);
  EXPECT_EQ(add(1, 1e-30), 1);
  EXPECT_EQ(add_long(1, 1e-30L), 1);
}

#if defined(__x86_64__) && defined(__GLIBC__)
// Flags of this thread are up that trap in the other one: they are no fault of the work, and stay.
TEST(FloatControlTest, FlagsThatAreUpDoNotTrap) {
  std::feclearexcept(FE_ALL_EXCEPT);
  ::feenableexcept(FE_DIVBYZERO | FE_OVERFLOW);
  const FloatControl trapping = FloatControl::of_this_thread();
  ::fedisableexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO | FE_OVERFLOW);
  {
    const FloatControlForNow now(trapping);
    EXPECT_EQ(::fegetexcept() & FE_DIVBYZERO, FE_DIVBYZERO);
    EXPECT_EQ(add_long(1, 2), 3);
    EXPECT_EQ(add(1, 2), 3);
  }
  EXPECT_EQ(::fegetexcept(), 0);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW), FE_DIVBYZERO | FE_OVERFLOW);
  std::feclearexcept(FE_ALL_EXCEPT);
}
#endif

}  // namespace
}  // namespace unisono
