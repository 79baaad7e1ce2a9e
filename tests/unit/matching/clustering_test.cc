// SPDX-License-Identifier: BSD-3-Clause
// M2 and M3: clusters, edge points, perfect hashes, profiles.
#include "matching/clustering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "../seed.h"
#include "matching/edge_point.h"
#include "matching/perfect_hash.h"
#include "matching/queue_profile.h"

namespace unisono::matching {
namespace {

// Groups of section 3.2: sources that send 2, 10, 50 and 100 messages.
std::vector<double> groups_of_section_32(int of_each) {
  std::vector<double> elements;
  for (int i = 0; i < of_each; ++i) elements.insert(elements.end(), {2, 10, 50, 100});
  return elements;
}

TEST(Clustering, KMeansFindsTheGroups) {
  const std::vector<double> elements = groups_of_section_32(16);
  const Clusters clusters = k_means(elements, 4);
  EXPECT_EQ(clusters.count, 4U);
  EXPECT_EQ(std::set(clusters.of_source.begin(), clusters.of_source.end()).size(), 4U);
  for (std::size_t i = 4; i < elements.size(); ++i)
    EXPECT_EQ(clusters.of_source[i], clusters.of_source[i % 4]);
}

TEST(Clustering, KMeansHasNoMoreClustersThanThereAreNumbers) {
  EXPECT_EQ(k_means({5, 5, 5}, 16).count, 1U);
  EXPECT_EQ(k_means(groups_of_section_32(3), 256).count, 4U);
  const Clusters clusters = k_means({0, 0, 7}, 2);
  EXPECT_EQ(clusters.of_source[0], clusters.of_source[1]);
  EXPECT_NE(clusters.of_source[0], clusters.of_source[2]);
}

TEST(Clustering, EachNumberIsInTheClusterOfItsNearestCenter) {
  std::mt19937 random(seed());
  std::vector<double> elements;
  for (int i = 0; i < 500; ++i) elements.push_back(static_cast<double>(random() % 1000));
  const Clusters clusters = k_means(elements, 8);
  std::vector<double> sums(clusters.count), counts(clusters.count);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    sums[clusters.of_source[i]] += elements[i];
    counts[clusters.of_source[i]] += 1;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto distance = [&](std::uint32_t c) { return std::abs(elements[i] - sums[c] / counts[c]); };
    for (std::uint32_t c = 0; c < clusters.count; ++c)
      EXPECT_LE(distance(clusters.of_source[i]), distance(c) + 1e-9);
  }
}

// By hand: the average is 40.5, SD 38.9 (of the population), a cluster ends when it has more than 79.4.
TEST(Clustering, HeuristicFollowsAlgorithm31) {
  const Clusters clusters = clusters_by_heuristic(groups_of_section_32(2));
  // In ascending order: 2 2 10 10 50 50 | 100 | 100.
  EXPECT_EQ(clusters.of_source, (std::vector<std::uint32_t>{0, 0, 0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(clusters.count, 3U);
}

TEST(Clustering, SourcesWithoutElementsShareTheFirstCluster) {
  const Clusters clusters = clusters_by_heuristic({0, 9, 0, 9, 0, 9});
  EXPECT_EQ(clusters.of_source[0], 0U);
  EXPECT_EQ(clusters.of_source[2], 0U);
  EXPECT_EQ(clusters.of_source[4], 0U);
  EXPECT_EQ(clusters_by_heuristic({0, 0, 0}).count, 1U);
}

TEST(EdgePoint, IsAverageMedianOrThirdQuartile) {
  const std::vector<double> elements = {10, 0, 20, 70};
  EXPECT_DOUBLE_EQ(edge_point(elements, EdgeMetric::average, 0), 25);
  EXPECT_DOUBLE_EQ(edge_point(elements, EdgeMetric::median, 0), 15);
  EXPECT_DOUBLE_EQ(edge_point(elements, EdgeMetric::upper_fence, 0), 32.5);  // Q3
  EXPECT_DOUBLE_EQ(edge_point(elements, EdgeMetric::upper_fence, 0.5), 20);  // Q1 is 7.5
  EXPECT_DOUBLE_EQ(edge_point({3}, EdgeMetric::upper_fence, 1), 3);
}

TEST(PerfectHash, KnowsItsKeysAndNoOthers) {
  std::mt19937 random(seed());
  for (int number = 0; number < 200; ++number) {
    std::set<std::uint64_t> chosen;
    const unsigned range = 1 + random() % 3000;
    for (unsigned i = random() % 200; i > 0; --i) chosen.insert(random() % range);
    std::vector<std::uint64_t> keys(chosen.begin(), chosen.end());
    std::ranges::shuffle(keys, random);
    const PerfectHash hash(keys);
    for (std::uint32_t i = 0; i < keys.size(); ++i) EXPECT_EQ(hash.find(keys[i]), i);
    for (std::uint64_t key = 0; key < 3500; ++key)
      EXPECT_EQ(hash.find(key).has_value(), chosen.contains(key)) << key;
  }
  EXPECT_FALSE(PerfectHash({16}).find(~0ULL).has_value());
}

TEST(Profile, IsReadAsItWasWritten) {
  std::map<int, Profile> of_ranks;
  of_ranks[3] = {.ranks = 8, .posted = {{{0, 1}, 5}, {{7, 2}, 9}}, .unexpected = {{{0, 7}, 1ULL << 40}}};
  of_ranks[5] = {.ranks = 8};
  const ReadProfile read = read_profiles(to_text(8, of_ranks));
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.ranks, 8);
  EXPECT_EQ(read.of_ranks, of_ranks);
  EXPECT_EQ(elements_of_sources(of_ranks[3].posted, 8), (std::vector<double>{0, 5, 9, 0, 0, 0, 0, 0}));
}

TEST(Profile, SaysWhatIsWrong) {
  const std::string begin = "unisono-matching-profile 1\n";
  EXPECT_EQ(read_profiles("").problem, "line 1 is not 'unisono-matching-profile 1'");
  EXPECT_EQ(read_profiles("unisono-matching-profile x").problem,
            "line 1 is not 'unisono-matching-profile 1'");
  EXPECT_EQ(read_profiles("unisono-matching-profile 2\nranks 4\n").problem,
            "it has version 2, and this Unisono reads version 1");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"# nothing", "it does not say how many ranks there are"},
      {"ranks 0", "line 2 wants a number of ranks"},
      {"ranks 4 5", "line 2 wants a number of ranks"},
      {"ranks 4\nranks 4", "line 3 says once more how many ranks there are"},
      {"rank 0", "line 2 wants a rank below the number of ranks"},
      {"ranks 4\nrank 4", "line 3 wants a rank below the number of ranks"},
      {"ranks 4\nrank 1\n # nothing\nrank 1", "line 5 names a rank a second time"},
      {"ranks 4\nposted 0 1 2", "line 3 stands before any rank"},
      {"ranks 4\nrank 1\nposted 0 4 2", "line 4 wants a context, a source and a count"},
      {"ranks 4\nrank 1\nposted 0 -1 2", "line 4 wants a context, a source and a count"},
      {"ranks 4\nrank 1\nposted 0 1 2\nposted 0 1 2", "line 5 counts a source a second time"},
      {"size 4", "line 2 begins with neither ranks, rank, posted nor unexpected"},
  };
  for (const auto& [text, problem] : cases) EXPECT_EQ(read_profiles(begin + text).problem, problem) << text;
}

}  // namespace
}  // namespace unisono::matching
