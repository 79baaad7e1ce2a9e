// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/size_class.h"

#include <gtest/gtest.h>

namespace unisono::tuning {
namespace {

TEST(SizeClassTest, EveryByteCountLiesInItsClass) {
  for (std::int64_t bytes = 0; bytes < 100000; ++bytes) {
    const int c = size_class(bytes);
    EXPECT_LE(class_low(c), bytes);
    EXPECT_GE(class_high(c), bytes);
  }
}

TEST(SizeClassTest, ClassesFollowEachOtherWithoutGaps) {
  for (int c = 1; c < size_class_count; ++c) EXPECT_EQ(class_low(c), class_high(c - 1) + 1) << c;
}

TEST(SizeClassTest, PowersOfTwoEndAClass) {
  EXPECT_EQ(size_class(8), size_class(5));
  EXPECT_NE(size_class(8), size_class(9));
  EXPECT_EQ(class_high(size_class(4096)), 4096);
}

TEST(SizeClassTest, HugeMessagesShareTheLastClass) {
  EXPECT_EQ(size_class(INT64_MAX), size_class_count - 1);
}

TEST(SizeClassTest, LabelsNameTheUpperEnd) {
  EXPECT_EQ(class_label(size_class(0)), "0 B");
  EXPECT_EQ(class_label(size_class(6)), "8 B");
  EXPECT_EQ(class_label(size_class(65536)), "64 KiB");
  EXPECT_EQ(class_label(size_class(3 << 20)), "4 MiB");
}

}  // namespace
}  // namespace unisono::tuning
