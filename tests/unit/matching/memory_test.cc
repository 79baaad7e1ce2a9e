// SPDX-License-Identifier: BSD-3-Clause
// How memory grows with the number of peers: not at all, by the root of it as M3 and M4 promise, or with it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string_view>

#include "../../../benchmarks/peer_memory.h"

namespace unisono::matching {
namespace {

constexpr int few = 1000, many = 100000;
// What grows by the root takes less for each peer here, and what grows with the peers takes more.
constexpr double bytes_of_peer = 2;

double growth_of(std::string_view name) {
  const Descriptor& descriptor = *find(name);
  return static_cast<double>(memory_with(descriptor, many)) -
         static_cast<double>(memory_with(descriptor, few));
}

double more_roots() {
  return std::sqrt(many) - std::sqrt(few);
}

TEST(Memory, OfSomeStructuresIsTheSameForAnyNumberOfPeers) {
  for (const char* name : {"list", "arrays", "vectors", "psm3", "ucx"}) EXPECT_EQ(growth_of(name), 0) << name;
}

// It remembers keys for a while, as many as it had entries.
TEST(Memory, OfUnisonosOwnFollowsItsEntries) {
  EXPECT_LE(growth_of("own"), 64.0 * 4096);
}

// M3: c sqrt(N), c = 8, of a table in each queue, and a list for each partner. M4: k sqrt(n) lists, k = 8.
TEST(Memory, OfBoundedStructuresGrowsByTheRoot) {
  constexpr double places = 8, bytes_of_place = 16, bytes_of_list = 64, queues = 2;
  const std::map<std::string_view, double> bytes_of_each{
      {"partners_dynamic", bytes_of_place + bytes_of_list},
      {"collectives_list", bytes_of_list},
      {"collectives_partners", bytes_of_place + 2 * bytes_of_list}};
  for (const auto& [name, bytes] : bytes_of_each) {
    const double growth = growth_of(name);
    EXPECT_LE(growth, queues * places * more_roots() * bytes) << name;
    EXPECT_LT(growth, bytes_of_peer * (many - few)) << name;
  }
}

TEST(Memory, OfOthersGrowsWithThePeers) {
  constexpr double most_bytes = 256;
  for (const char* name : {"by_source", "clusters_heuristic", "clusters_k_means", "partners_static"}) {
    const double growth = growth_of(name);
    EXPECT_GT(growth, bytes_of_peer * (many - few)) << name;
    EXPECT_LT(growth, most_bytes * (many - few)) << name;
  }
}

}  // namespace
}  // namespace unisono::matching
