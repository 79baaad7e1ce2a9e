// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/domain_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "../seed.h"
#include "patterns/domain_shares.h"

namespace unisono::patterns {
namespace {

TEST(DomainTree, ADomainsLowestRankLeadsIt) {
  const DomainTree tree = domain_tree(*Layout::parse("1x2x2x2"), 0, 0);
  EXPECT_EQ(tree.parent, (std::vector<int>{-1, 0, 0, 2, 0, 4, 4, 6}));
  EXPECT_EQ(tree.children[0], (std::vector<int>{1, 2, 4})) << "the innermost domain's first";
  EXPECT_EQ(tree.children[4], (std::vector<int>{5, 6}));
}

TEST(DomainTree, TheRootLeadsItsDomains) {
  const DomainTree tree = domain_tree(*Layout::parse("1x2x2x2"), 0, 7);
  EXPECT_EQ(tree.parent, (std::vector<int>{7, 0, 0, 2, 7, 4, 7, -1}));
  EXPECT_EQ(tree.children[7], (std::vector<int>{6, 4, 0}));
}

TEST(DomainTree, LocalRanksCountOnLaterNodes) {
  const DomainTree tree = domain_tree(*Layout::parse("3,(2+2)"), 1, 1);
  EXPECT_EQ(tree.parent, (std::vector<int>{1, -1, 1, 2}));
}

TEST(DomainTree, ANodeThatNothingDividesIsFlat) {
  const DomainTree tree = domain_tree(Layout::one_node(4), 0, 2);
  EXPECT_EQ(tree.parent, (std::vector<int>{2, 2, -1, 2}));
}

// Any ranks in any domains, and any root.
Layout random_node(std::minstd_rand* random, bool is_in_order) {
  const int ranks = 1 + static_cast<int>((*random)() % 40);
  Layout layout = Layout::one_node(ranks);
  std::vector<DomainLabels> levels((*random)() % 4);
  for (DomainLabels& level : levels) {
    for (int rank = 0; rank < ranks; ++rank) level.labels.push_back(static_cast<int>((*random)() % 4));
    if (is_in_order) std::ranges::sort(level.labels);
  }
  layout.divide(levels);
  return layout;
}

std::vector<int> below(const DomainTree& tree, int rank) {
  std::vector<int> all{rank};
  for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
    const std::vector<int> more = below(tree, child);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST(DomainTree, CrossesEachBorderOnce) {
  std::minstd_rand random(seed() + 1);
  for (int i = 0; i < 500; ++i) {
    const Layout layout = random_node(&random, false);
    const int root = static_cast<int>(random() % static_cast<unsigned>(layout.size()));
    const DomainTree tree = domain_tree(layout, 0, root);
    std::vector<int> all = below(tree, root);
    std::ranges::sort(all);
    std::vector<int> ranks(static_cast<std::size_t>(layout.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    ASSERT_EQ(all, ranks) << "every rank is below the root once";
    for (int level = 0; layout.domains != nullptr && level < layout.domains->depth(); ++level) {
      const DomainLevel& of = layout.domains->levels[static_cast<std::size_t>(level)];
      int crossings = 0;
      for (int rank = 0; rank < layout.size(); ++rank) {
        const int parent = tree.parent[static_cast<std::size_t>(rank)];
        if (parent >= 0 && of.domain_of[rank] != of.domain_of[parent]) ++crossings;
      }
      ASSERT_EQ(crossings, of.count() - 1) << layout.text() << " level " << level;
    }
  }
}

TEST(DomainTree, KeepsTheOrderOfRanksWhereDomainsDo) {
  std::minstd_rand random(seed() + 2);
  for (int i = 0; i < 500; ++i) {
    const Layout layout = random_node(&random, true);
    if (!layout.has_domains_in_order()) continue;
    const std::vector<int> all = below(domain_tree(layout, 0, 0), 0);
    ASSERT_TRUE(std::ranges::is_sorted(all)) << layout.text();
  }
}

// Every part has one worker of a group, in whose run it is, and what is for a root only its neighbours work
// for.
TEST(DomainShares, PartAGroupsWorkAmongItsRanks) {
  std::minstd_rand random(seed() + 3);
  for (int i = 0; i < 200; ++i) {
    const Layout layout = random_node(&random, false);
    const int root = static_cast<int>(random() % static_cast<unsigned>(layout.size() + 1)) - 1;
    const int parts = layout.size();
    for (int rank = 0; rank < layout.size(); ++rank) {
      const std::vector<SharingLevel> levels = sharing_levels(layout, 0, rank, root);
      ASSERT_EQ(std::ssize(levels), layout.domains == nullptr ? 1 : layout.domains->depth() + 1);
      ASSERT_EQ(std::ssize(levels.back().whole.members), layout.size());
      for (const SharingLevel& level : levels) {
        std::vector<int> members;
        for (const SharingGroup& group : level.inside)
          members.insert(members.end(), group.members.begin(), group.members.end());
        std::ranges::sort(members);
        ASSERT_EQ(members, level.whole.members);
        ASSERT_TRUE(level.whole.has(rank));
        if (root >= 0 && level.whole.has(root)) {
          ASSERT_EQ(level.whole.workers, sharing_levels(layout, 0, root, root).front().whole.members);
        }
        for (int part = 0; part < parts; ++part) {
          const auto worker = std::ranges::find(level.whole.workers, level.whole.worker_of(part, parts));
          ASSERT_NE(worker, level.whole.workers.end());
          const int index = static_cast<int>(worker - level.whole.workers.begin());
          ASSERT_LE(level.whole.first_of(index, parts), part);
          ASSERT_LT(part, level.whole.first_of(index + 1, parts));
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::patterns
