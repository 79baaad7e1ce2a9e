// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/identifiers.h"

#include <gtest/gtest.h>

namespace unisono::runtime {
namespace {

TEST(IdentifiersTest, TakesTheLowestAndGivesItBack) {
  Identifiers ids;
  for (int expected : {0, 1, 2}) {
    bool is_held = false;
    const Identifiers::Set offer = ids.offer(&is_held);
    ASSERT_TRUE(is_held);
    EXPECT_EQ(Identifiers::lowest(offer.data()), expected);
    ids.settle(expected);
  }
  ids.release(1);
  bool is_held = false;
  EXPECT_EQ(Identifiers::lowest(ids.offer(&is_held).data()), 1);
  ids.settle(-1);
}

TEST(IdentifiersTest, ASecondSetUpSeesNothingWhileTheFirstIsUnderWay) {
  Identifiers ids;
  bool is_first = false, is_second = false;
  ids.offer(&is_first);
  const Identifiers::Set none = ids.offer(&is_second);
  EXPECT_TRUE(is_first);
  EXPECT_FALSE(is_second);
  EXPECT_EQ(Identifiers::lowest(none.data()), -1);
  ids.settle(0);
  EXPECT_EQ(Identifiers::lowest(ids.offer(&is_second).data()), 1);
  EXPECT_TRUE(is_second);
}

TEST(IdentifiersTest, RunsOut) {
  Identifiers ids;
  for (int i = 0; i < Identifiers::count; ++i) {
    bool is_held = false;
    const int id = Identifiers::lowest(ids.offer(&is_held).data());
    ASSERT_EQ(id, i);
    ids.settle(id);
  }
  bool is_held = false;
  EXPECT_EQ(Identifiers::lowest(ids.offer(&is_held).data()), -1);
}

}  // namespace
}  // namespace unisono::runtime
