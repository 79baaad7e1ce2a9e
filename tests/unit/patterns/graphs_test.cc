// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace unisono::patterns {
namespace {

std::vector<int> ranks_of(const std::vector<Neighbor>& neighbors) {
  std::vector<int> ranks;
  for (const Neighbor& neighbor : neighbors) ranks.push_back(neighbor.rank);
  return ranks;
}

std::int64_t edges(const Neighborhood& graph) {
  std::int64_t count = 0;
  for (int rank = 0; rank < graph.size(); ++rank) count += std::ssize(graph.of(rank).out);
  return count;
}

std::uint64_t checksum(const Neighborhood& graph) {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < graph.size(); ++rank) sum += graph.checksum(rank);
  return sum;
}

TEST(Graphs, ExtentsAreAsEvenAsTheyCanBe) {
  EXPECT_EQ(even_extents(1, 2), (std::vector{1, 1}));
  EXPECT_EQ(even_extents(12, 1), (std::vector{12}));
  EXPECT_EQ(even_extents(12, 2), (std::vector{4, 3}));
  EXPECT_EQ(even_extents(13, 2), (std::vector{13, 1}));
  EXPECT_EQ(even_extents(4096, 4), (std::vector{8, 8, 8, 8}));
  EXPECT_EQ(even_extents(24, 3), (std::vector{4, 3, 2}));
  EXPECT_EQ(even_extents(65536, 3), (std::vector{64, 32, 32}));
}

TEST(Graphs, MooreReachesEachNeighborOnce) {
  for (const int radius : {1, 2, 3}) {
    const Neighborhood graph = moore_neighborhood({8, 7}, radius);
    for (int rank = 0; rank < graph.size(); ++rank) {
      std::set<int> wanted;
      for (int other = 0; other < graph.size(); ++other) {
        const int down = std::abs(other / 7 - rank / 7), across = std::abs(other % 7 - rank % 7);
        if (std::min(down, 8 - down) <= radius && std::min(across, 7 - across) <= radius)
          wanted.insert(other);
      }
      wanted.erase(rank);
      const std::vector<int> out = ranks_of(graph.of(rank).out), in = ranks_of(graph.of(rank).in);
      EXPECT_EQ(std::set(out.begin(), out.end()), wanted);
      EXPECT_EQ(std::set(in.begin(), in.end()), wanted);
      EXPECT_EQ(out.size(), wanted.size());
    }
    EXPECT_EQ(checksum(graph), 0u);
  }
  // The torus of 4 ranks leads to the same ones on both sides.
  EXPECT_EQ(ranks_of(moore_neighborhood({2, 2}, 5).of(0).out).size(), 3u);
}

TEST(Graphs, RandomOnesHaveTheirDensityAndAreTheSameEverywhere) {
  for (const double density : {0.0, 0.001, 0.05, 0.4, 0.8, 1.0}) {
    const int ranks = 300;
    const Neighborhood graph = random_neighborhood(ranks, density, 1);
    const double pairs = ranks * (ranks - 1.0), mean = pairs * density;
    EXPECT_LE(std::abs(static_cast<double>(edges(graph)) - mean), 5 * std::sqrt(mean * (1 - density)));
    EXPECT_EQ(checksum(graph), 0u);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<int> out = ranks_of(graph.of(rank).out);
      EXPECT_EQ(std::set(out.begin(), out.end()).size(), out.size());
      EXPECT_EQ(std::ranges::count(out, rank), 0);
    }
  }
  EXPECT_EQ(ranks_of(random_neighborhood(12, 0.3, 1).of(0).out), (std::vector{2, 3, 4, 7, 10, 11}));
  EXPECT_NE(ranks_of(random_neighborhood(99, 0.3, 1).of(0).out),
            ranks_of(random_neighborhood(99, 0.3, 2).of(0).out));
}

TEST(Graphs, CartesianOnesEndAtTheBorder) {
  const Neighborhood open = cartesian_neighborhood({2, 3}, false);
  EXPECT_EQ(ranks_of(open.of(0).out), (std::vector{no_neighbor, 3, no_neighbor, 1}));
  EXPECT_EQ(ranks_of(open.of(4).in), (std::vector{1, no_neighbor, 3, 5}));
  EXPECT_EQ(checksum(open), 0u);
  const Neighborhood periodic = cartesian_neighborhood({2, 3}, true);
  EXPECT_EQ(ranks_of(periodic.of(0).out), (std::vector{3, 3, 2, 1}));
  EXPECT_EQ(checksum(periodic), 0u);
  EXPECT_EQ(ranks_of(cartesian_neighborhood({1}, true).of(0).out), (std::vector{0, 0}));
}

TEST(Graphs, TextSaysWhichOne) {
  const auto degree = [](const char* text, int ranks) {
    const auto graph = parse_graph(text, ranks);
    return graph ? static_cast<int>(graph->of(0).out.size()) : -1;
  };
  EXPECT_EQ(degree("moore:2,4", 4096), 80);
  EXPECT_EQ(degree("moore:3,1", 64), 26);
  EXPECT_EQ(degree("cart:4x4x4", 64), 6);
  EXPECT_EQ(degree("cart:4x4x4,periodic", 64), 6);
  EXPECT_EQ(degree("ring", 8), 2);
  EXPECT_EQ(degree("ring", 2), 1);
  EXPECT_EQ(degree("complete", 8), 7);
  EXPECT_EQ(degree("random:1", 8), 7);
  EXPECT_EQ(degree("random:0.5,7", 1), 0);
  for (const char* text : {"", "rings", "ring:3", "moore", "moore:2", "moore:0,1", "moore:2,x", "moore:17,1",
                           "random", "random:1.5", "random:-1", "random:nan", "random:0.5,x", "cart",
                           "cart:", "cart:4x", "cart:4x4,open", "cart:3x3", "cart:99999x99999x99999"}) {
    EXPECT_EQ(degree(text, 8), -1) << text;
    EXPECT_NE(why_no_graph(text, 8), "") << text;
  }
  EXPECT_EQ(why_no_graph("cart:3x3", 8), "a grid of 3x3 does not have 8 ranks");
}

}  // namespace
}  // namespace unisono::patterns
