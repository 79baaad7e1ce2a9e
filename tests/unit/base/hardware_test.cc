// SPDX-License-Identifier: BSD-3-Clause
#include "base/hardware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace unisono {
namespace {

class HardwareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (read_hardware().problem.starts_with("there is no")) GTEST_SKIP() << "hwloc is not here";
  }
};

std::map<HardwareKind, int> counts(const Hardware& hardware) {
  std::map<HardwareKind, int> found;
  for (const HardwarePart& part : hardware.parts) ++found[part.kind];
  return found;
}

const std::map<HardwareKind, int> two_sockets{
    {HardwareKind::socket, 2}, {HardwareKind::numa, 4}, {HardwareKind::cache, 8}, {HardwareKind::core, 32}};

TEST_F(HardwareTest, IsReadFromADescription) {
  const ReadHardware read = read_hardware({.synthetic = "package:2 numa:2 l3:2(size=33554432) core:4 pu:2"});
  ASSERT_TRUE(read.hardware) << read.problem;
  EXPECT_EQ(counts(*read.hardware), two_sockets);
  EXPECT_EQ(read.hardware->cpus.size(), 64u);
  EXPECT_FALSE(read.hardware->is_this_machine);
  const auto cache = std::ranges::find(read.hardware->parts, HardwareKind::cache, &HardwarePart::kind);
  EXPECT_EQ(cache->bytes, 32u << 20);
  EXPECT_EQ(cache->cpus, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  for (const HardwarePart& part : read.hardware->parts)
    EXPECT_TRUE(part.kind != HardwareKind::numa || part.cpus.size() == 16);
}

// Sockets have the even cores and the odd ones.
TEST_F(HardwareTest, IsReadFromAFile) {
  const ReadHardware read = read_hardware({.xml_file = TWO_SOCKETS_XML});
  ASSERT_TRUE(read.hardware) << read.problem;
  EXPECT_EQ(counts(*read.hardware), two_sockets);
  for (const HardwarePart& part : read.hardware->parts) {
    const bool has_its_own = std::ranges::all_of(part.cpus, [&](int cpu) { return cpu % 2 == part.number; });
    EXPECT_TRUE(part.kind != HardwareKind::socket || has_its_own);
  }
}

// Smaller caches are the last level where there are no others.
TEST_F(HardwareTest, TheLastLevelOfCachesCounts) {
  const auto caches = [](const char* description) {
    const ReadHardware read = read_hardware({.synthetic = description});
    return read.hardware ? counts(*read.hardware)[HardwareKind::cache] : -1;
  };
  EXPECT_EQ(caches("numa:2 l3:2 l2:4 pu:1"), 4);
  EXPECT_EQ(caches("numa:4 l2:1 core:12 pu:1"), 4);
  EXPECT_EQ(caches("numa:2 core:2 pu:1"), 0);
}

TEST_F(HardwareTest, ThisMachineHasCores) {
  const ReadHardware read = read_hardware();
  ASSERT_TRUE(read.hardware) << read.problem;
  EXPECT_TRUE(read.hardware->is_this_machine);
  EXPECT_FALSE(read.hardware->cpus.empty());
}

TEST_F(HardwareTest, WhatIsNoDescriptionIsSaidSo) {
  EXPECT_EQ(read_hardware({.synthetic = "pu:"}).problem, "hwloc takes 'pu:' for no description");
  const ReadHardware missing = read_hardware({.xml_file = "/nowhere/machine.xml"});
  EXPECT_FALSE(missing.hardware);
  EXPECT_NE(missing.problem, "");
}

TEST(Hardware, WithoutTheLibraryNothingIsKnown) {
  const ReadHardware read = read_hardware({}, "libhwloc.so.none");
  EXPECT_FALSE(read.hardware);
  EXPECT_EQ(read.problem, "there is no libhwloc.so.none");
}

TEST(Hardware, ALibraryThatFailsIsLeftAlone) {
  const ReadHardware read = read_hardware({}, FAILING_HWLOC);
  EXPECT_FALSE(read.hardware);
  EXPECT_TRUE(read.problem.starts_with("hwloc cannot begin: ")) << read.problem;
}

TEST(Hardware, ALibraryOfAnotherMakeIsLeftAlone) {
  const ReadHardware read = read_hardware({}, "libm.so.6");
  EXPECT_FALSE(read.hardware);
  EXPECT_EQ(read.problem, "libm.so.6 lacks functions");
}

}  // namespace
}  // namespace unisono
