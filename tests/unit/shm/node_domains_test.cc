// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/node_domains.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace unisono::shm {
namespace {

std::vector<int> cpus(int first, int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

CoreMask mask_of(const std::vector<int>& cores) {
  CoreMask mask{};
  for (const int core : cores) mask[static_cast<std::size_t>(core) / 64] |= std::uint64_t{1} << core % 64;
  return mask;
}

// 2 sockets of 2 NUMA domains with 2 caches of 8 cores each; the first cache's memory is of two kinds.
Hardware machine() {
  Hardware made{.cpus = cpus(0, 64), .parts = {}};
  const auto add = [&](HardwareKind kind, int count) {
    for (int i = 0; i < count; ++i)
      made.parts.push_back({.kind = kind, .number = i, .cpus = cpus(i * 64 / count, 64 / count)});
  };
  add(HardwareKind::socket, 2);
  add(HardwareKind::numa, 4);
  made.parts.push_back({.kind = HardwareKind::numa, .number = 4, .cpus = cpus(0, 16)});
  add(HardwareKind::cache, 8);
  add(HardwareKind::core, 64);
  return made;
}

PartNumbers parts_on(const std::vector<int>& cores, const Hardware& hardware = machine()) {
  const auto parts = std::make_unique<PartsOfCpus>();
  number_parts(hardware, parts.get());
  return parts_of(mask_of(cores), *parts);
}

TEST(NodeDomains, ARankIsInThePartsThatHoldAllThatItMayUse) {
  EXPECT_EQ(parts_on({0}), (PartNumbers{0, 0, 0}));
  EXPECT_EQ(parts_on({63}), (PartNumbers{1, 3, 7}));
  EXPECT_EQ(parts_on({24, 31}), (PartNumbers{0, 1, 3}));
  EXPECT_EQ(parts_on({16, 31}), (PartNumbers{0, 1, -1}));
  EXPECT_EQ(parts_on({0, 31}), (PartNumbers{0, -1, -1}));
  EXPECT_EQ(parts_on({0, 63}), in_no_part);
  EXPECT_EQ(parts_on(cpus(0, 64)), in_no_part);
  EXPECT_EQ(parts_on({}), in_no_part);
}

TEST(NodeDomains, CoresThatAreInNoPartOfAKindShareOne) {
  Hardware made = machine();
  std::erase_if(made.parts, [](const HardwarePart& part) {
    return part.kind == HardwareKind::socket || (part.kind == HardwareKind::cache && part.number > 0);
  });
  EXPECT_EQ(parts_on({0, 63}, made)[0], 0);
  EXPECT_EQ(parts_on({8, 15}, made), (PartNumbers{0, 0, 1}));
  EXPECT_EQ(parts_on({0, 15}, made), (PartNumbers{0, 0, -1}));
}

TEST(NodeDomains, CoresThatNobodyHasToldOfAreInNoPart) {
  EXPECT_EQ(parts_on({64}), in_no_part);
  EXPECT_EQ(parts_on({63, 64}), in_no_part);
  Hardware large = machine();
  large.parts.push_back({.kind = HardwareKind::socket, .number = 2, .cpus = {5000}});
  large.cpus.push_back(5000);
  EXPECT_EQ(parts_on({0}, large), (PartNumbers{0, 0, 0}));
}

struct Zeroed {
  Zeroed() : memory(sizeof(ToldParts)), told(reinterpret_cast<ToldParts*>(memory.data())) {}
  std::vector<char> memory;
  ToldParts* told;
};

TEST(NodeDomains, WhoHearsNothingIsInNoPart) {
  const Zeroed zeroed;
  EXPECT_EQ(zeroed.told->hear(mask_of({0}), std::chrono::milliseconds(2)), in_no_part);
  zeroed.told->tell_nothing();
  EXPECT_EQ(zeroed.told->hear(mask_of({0}), std::chrono::hours(1)), in_no_part);
}

TEST(NodeDomains, OneAsksAndAllHear) {
  const Zeroed zeroed;
  PartNumbers heard{};
  std::thread other([&] { heard = zeroed.told->hear(mask_of({63}), std::chrono::seconds(30)); });
  const std::string why = zeroed.told->ask({.synthetic = "package:2 numa:2 l3:2 core:8 pu:1"});
  other.join();
  if (!why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(heard, (PartNumbers{1, 3, 7}));
  EXPECT_EQ(zeroed.told->hear(mask_of({9, 10}), std::chrono::seconds(0)), (PartNumbers{0, 0, 1}));
}

}  // namespace
}  // namespace unisono::shm
