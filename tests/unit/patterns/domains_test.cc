// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/domains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "../seed.h"
#include "patterns/layout.h"
#include "patterns/layout_text.h"

namespace unisono::patterns {
namespace {

Layout parsed(const std::string& text) {
  const auto layout = Layout::parse(text);
  EXPECT_TRUE(layout) << text;
  return layout.value_or(Layout::one_node(1));
}

TEST(Domains, AreNumberedByTheirLowestRank) {
  const Layout layout = parsed("2x2x2x2");
  ASSERT_EQ(layout.domains->depth(), 2);
  const auto& [sockets, caches] = std::pair(layout.domains->levels[0], layout.domains->levels[1]);
  EXPECT_EQ(sockets.domain_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(caches.domain_of, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}));
  EXPECT_EQ(caches.ranks_of[5], (std::vector<int>{10, 11}));
  EXPECT_EQ(sockets.kind, DomainKind::numa);
  EXPECT_EQ(caches.kind, DomainKind::cache);
}

TEST(Domains, LabelsCountOnlyInsideTheLevelBefore) {
  Layout layout = Layout::from_labels({0, 0, 0, 0, 0, 0, 1, 1, 1});
  layout.divide({{.kind = DomainKind::socket, .labels = {7, 5, 7, 5, 7, 5, 7, 5, 5}},
                 {.kind = DomainKind::cache, .labels = {0, 0, 0, 1, 1, 1, 0, 0, 0}}});
  EXPECT_EQ(layout.domains->levels[0].domain_of, (std::vector<int>{0, 1, 0, 1, 0, 1, 2, 3, 3}));
  EXPECT_EQ(layout.domains->levels[1].domain_of, (std::vector<int>{0, 1, 0, 2, 3, 2, 4, 5, 5}));
  EXPECT_EQ(layout.text(), "(2+1)+(1+2),1+2/interleaved");
}

TEST(Domains, LevelsThatDivideNothingAreLeftOut) {
  for (const auto& [written, normal] :
       std::vector<std::pair<std::string, std::string>>{{"4x8x1", "4x8"},
                                                        {"4x1x8", "4x8"},
                                                        {"1x8", "8"},
                                                        {"1x1x8", "8"},
                                                        {"1x8x1", "8"},
                                                        {"2x1x4x1x8x1", "2x4x8"},
                                                        {"(3+5)", "3+5"},
                                                        {"(4+4)", "1x2x4"},
                                                        {"4+4", "1x2x4"},
                                                        {"1+1,1+1", "2x2"},
                                                        {"(1+1),2", "2x2"},
                                                        {"4x(8)", "4x8"},
                                                        {"2x((2)+(2))", "2x2x2"},
                                                        {"3+5,3+5", "2x(3+5)"}}) {
    const Layout layout = parsed(written), same = parsed(normal);
    EXPECT_EQ(layout.text(), normal) << written;
    ASSERT_EQ(layout.domains == nullptr, same.domains == nullptr) << written;
    EXPECT_TRUE(layout.domains == nullptr || *layout.domains == *same.domains) << written << ": the kinds";
  }
  EXPECT_EQ(parsed("4x8x1").domains, nullptr);
  EXPECT_EQ(parsed("1x8").domains, nullptr);
}

TEST(Domains, AreDescribed) {
  EXPECT_EQ(parsed("1x2x8").describe(), "16 ranks on 1 node (2 domains of 8)");
  EXPECT_EQ(parsed("4x2x8").describe(), "64 ranks on 4 nodes (16 ranks each; 2 domains of 8)");
  EXPECT_EQ(parsed("2x4x8x8").describe(),
            "512 ranks on 2 nodes (256 ranks each; 4 domains of 8 domains of 8)");
  EXPECT_EQ(parsed("2x2x2/cyclic/interleaved").describe(),
            "8 ranks on 2 nodes (4 ranks each, not consecutive; 2 domains of 2, interleaved)");
  EXPECT_EQ(parsed("3+5,4").describe(), "12 ranks on 2 nodes (8+4; domains 3+5, 4)");
}

TEST(Domains, RanksAreDealtOutToThem) {
  EXPECT_EQ(parsed("1x2x2/interleaved").domains->levels[0].domain_of, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(parsed("2x2x2/cyclic").domains->levels[0].domain_of, (std::vector<int>{0, 1, 0, 1, 2, 3, 2, 3}));
  const Layout both = parsed("2x2x2/cyclic/interleaved");
  EXPECT_EQ(both.node_of, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(both.domains->levels[0].domain_of, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
  const Layout nested = parsed("1x2x2x2/interleaved");  // the outermost in turn first
  EXPECT_EQ(nested.domains->levels[0].domain_of, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(nested.domains->levels[1].domain_of, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Domains, SomeRanksHaveThoseThatDivideThem) {
  const Layout layout = parsed("2x2x2x2");
  EXPECT_EQ(layout.of_ranks({0, 8}).text(), "2x1");
  EXPECT_EQ(layout.of_ranks({0, 1, 4, 5}).text(), "1x2x2");
  EXPECT_EQ(layout.of_ranks({0, 1, 2, 3}).text(), "1x2x2");
  EXPECT_EQ(layout.of_ranks({0, 4, 1, 5}).text(), "1x2x2/interleaved");
  EXPECT_EQ(layout.of_ranks({15, 14, 13, 12, 11}).text(), "(2+2)+1");
  EXPECT_EQ(layout.of_ranks({0, 2, 4, 6}).text(), "1x2x2");
}

TEST(Domains, ANodeByItselfHasItsOutermostOnesAsNodes) {
  EXPECT_EQ(parsed("4x2x8").inside(3).text(), "2x8");
  EXPECT_EQ(parsed("2x4x8x8").inside(1).text(), "4x8x8");
  EXPECT_EQ(parsed("4x8").inside(0).text(), "8");
  EXPECT_EQ(parsed("(4+4),3+5").inside(0).text(), "2x4");  // what does not divide it is passed over
  EXPECT_EQ(parsed("(4+4),3+5").inside(1).text(), "3,5");
  EXPECT_EQ(parsed("1x2x4x2/interleaved").inside(0).text(), "2x4x2/cyclic/interleaved");
}

TEST(Domains, RefusesWhatIsNotALayout) {
  for (const char* text : {"4x2x",
                           "4xx8",
                           "x4x8",
                           "4x0x8",
                           "3+",
                           "+3",
                           "3++5",
                           "(3+5",
                           "3+5)",
                           "()",
                           "4x()",
                           "4x(3+5",
                           "4x(3+5)x2",
                           "3+5x2",
                           "4x2x8/interleaved/cyclic",
                           "4x2x8/Interleaved",
                           "1x2x2x2x2x2x2x2x2x2x2",
                           "((((((((((1))))))))))",
                           "1024x1024x2",
                           "1024x1024x(1+1)",
                           "4x(1048576+1)"}) {
    EXPECT_FALSE(Layout::parse(text)) << text;
  }
  EXPECT_EQ(why_no_layout("1024x32x64"), "is too large: a layout has at most 1048576 ranks");
  EXPECT_EQ(why_no_layout("4x(3+)").rfind("is no layout: write 4x8", 0), 0u);
}

TEST(Domains, SeveralNodesAreNoDivisionOfOne) {
  EXPECT_FALSE(parse_node("2,2"));
  EXPECT_TRUE(why_no_node("2,2").starts_with("is no division of a node")) << why_no_node("2,2");
  EXPECT_TRUE(why_no_node("2000x2000").starts_with("is too large")) << why_no_node("2000x2000");
}

class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint64_t seed) : random_(seed) {}

  Layout layout() {
    const int size = below(24) + 1;
    Layout layout = Layout::from_labels(labels(size));
    std::vector<DomainLabels> levels(static_cast<std::size_t>(below(4)));
    for (DomainLabels& level : levels) level.labels = labels(size);
    layout.divide(levels);
    return layout;
  }
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

 private:
  std::vector<int> labels(int size) {
    const int kinds = below(4) + 1, run = below(4) + 1;
    std::vector<int> labels;
    for (int rank = 0; rank < size; ++rank) labels.push_back(rank % run == 0 ? below(kinds) : labels.back());
    return labels;
  }

  std::mt19937_64 random_;
};

std::vector<int> sizes_of(const std::vector<std::vector<int>>& ranks_of) {
  std::vector<int> sizes;
  for (const auto& ranks : ranks_of) sizes.push_back(static_cast<int>(ranks.size()));
  return sizes;
}

// Nested, numbered by the lowest rank, in normal form.
void expect_sound(const Layout& layout) {
  if (layout.domains == nullptr) return;
  ASSERT_GE(layout.domains->depth(), 1);
  std::vector<int> outer = layout.node_of;
  for (const DomainLevel& level : layout.domains->levels) {
    int next = 0;
    for (int rank = 0; rank < layout.size(); ++rank) {
      ASSERT_LE(level.domain_of[rank], next);
      next = std::max(next, level.domain_of[rank] + 1);
    }
    ASSERT_EQ(next, level.count());
    for (const auto& ranks : level.ranks_of) {
      for (const int rank : ranks) ASSERT_EQ(outer[rank], outer[ranks.front()]);
    }
    EXPECT_TRUE(std::ranges::any_of(level.ranks_of, [&](const std::vector<int>& ranks) {
      return ranks.size() > 1 && std::ranges::count(outer, outer[ranks.front()]) > std::ssize(ranks);
    }));
    outer = level.domain_of;
  }
}

TEST(Domains, WhatIsWrittenOfALayoutIsReadAsOneOfItsShape) {
  RandomLayouts random(seed());
  for (int i = 0; i < 3000; ++i) {
    const Layout layout = random.layout();
    const std::string text = layout.text();
    SCOPED_TRACE(text);
    const auto again = Layout::parse(text);
    ASSERT_TRUE(again);
    expect_sound(layout);
    expect_sound(*again);
    EXPECT_EQ(again->text(), text);
    EXPECT_EQ(sizes_of(again->ranks_of), sizes_of(layout.ranks_of));
    if (!layout.is_consecutive() || !layout.has_domains_in_order()) continue;
    // Then the text says all but the kinds.
    EXPECT_EQ(again->node_of, layout.node_of);
    ASSERT_EQ(again->domains == nullptr, layout.domains == nullptr);
    for (int level = 0; layout.domains != nullptr && level < layout.domains->depth(); ++level)
      EXPECT_EQ(again->domains->levels[level].domain_of, layout.domains->levels[level].domain_of);
  }
}

TEST(Domains, SomeOfARandomLayoutsRanksShareWhatTheyHaveShared) {
  RandomLayouts random(seed() + 1);
  for (int i = 0; i < 1000; ++i) {
    const Layout layout = random.layout();
    std::vector<int> ranks(static_cast<std::size_t>(layout.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::size_t r = ranks.size(); r > 1; --r)
      std::swap(ranks[r - 1], ranks[random.below(static_cast<int>(r))]);
    ranks.resize(static_cast<std::size_t>(random.below(layout.size()) + 1));
    const Layout some = layout.of_ranks(ranks);
    expect_sound(some);
    for (int node = 0; node < some.nodes(); ++node) {
      const Layout inside = some.inside(node);
      expect_sound(inside);
      EXPECT_EQ(inside.size(), static_cast<int>(some.ranks_of[node].size()));
      EXPECT_EQ(
          inside.nodes() > 1, some.domains != nullptr && [&] {
            for (const DomainLevel& level : some.domains->levels) {
              for (const int rank : some.ranks_of[node]) {
                if (level.domain_of[rank] != level.domain_of[some.ranks_of[node].front()]) return true;
              }
            }
            return false;
          }());
    }
  }
}

}  // namespace
}  // namespace unisono::patterns
