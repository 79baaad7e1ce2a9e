// SPDX-License-Identifier: BSD-3-Clause
// Every tree, for sizes 1 .. 70 with every root and some large sizes with a few.
#include "patterns/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "patterns/numbers.h"

namespace unisono::patterns {
namespace {

struct Case {
  std::string name;
  std::function<Tree(int size, int root)> make;
  std::function<int(int size)> depth;
};

int log_of_degree(int size, int degree) {
  int depth = 0;
  for (std::int64_t reach = 1; reach < size; reach *= degree) ++depth;
  return depth;
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"flat", Tree::flat, [](int size) { return size > 1 ? 1 : 0; }},
      {"chain", Tree::chain, [](int size) { return size - 1; }},
      {"binary", Tree::binary, [](int size) { return ceil_log2(size + 1) - 1; }},
      {"binomial", Tree::binomial, ceil_log2},
  };
  for (const int degree : {3, 4, 7, 100}) {
    all.push_back({"k_nomial_" + std::to_string(degree),
                   [degree](int size, int root) { return Tree::k_nomial(size, root, degree); },
                   [degree](int size) { return log_of_degree(size, degree); }});
  }
  return all;
}

// A node's children stand in its own run, each is its subtree's root, and they name their parent. In reversed
// order they grow one run from the rank itself to the whole subtree.
void expect_node(const Tree& tree, int rank, const TreeNode& node) {
  const int position = tree.position_of(rank);
  ASSERT_EQ(tree.rank_at(position), rank);
  std::pair run{position, position + 1};
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    const TreeNode below = tree.at(child->rank);
    ASSERT_EQ(below.parent, rank);
    ASSERT_EQ(below.first, child->first);
    ASSERT_EQ(below.last, child->last);
    ASSERT_TRUE(child->last == run.first || child->first == run.second) << "not a neighbour: " << child->rank;
    run = {std::min(run.first, child->first), std::max(run.second, child->last)};
  }
  ASSERT_EQ(run, (std::pair{node.first, node.last})) << "rank " << rank;
}

void expect_tree(const Case& tested, int size, int root) {
  SCOPED_TRACE(tested.name + " size " + std::to_string(size) + " root " + std::to_string(root));
  const Tree tree = tested.make(size, root);
  int children = 0;
  for (int rank = 0; rank < size; ++rank) {
    const TreeNode node = tree.at(rank);
    ASSERT_EQ(node.parent == -1, rank == root) << "rank " << rank;
    expect_node(tree, rank, node);
    children += static_cast<int>(node.children.size());
  }
  ASSERT_EQ(children, size - 1);
  ASSERT_EQ(tree.at(root).last - tree.at(root).first, size);
  ASSERT_LE(tree.depth(), tested.depth(size));
}

TEST(Tree, EverySizeAndRoot) {
  for (const Case& tested : cases()) {
    for (int size = 1; size <= 70; ++size) {
      for (int root = 0; root < size; ++root) {
        expect_tree(tested, size, root);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Tree, LargeSizes) {
  for (const Case& tested : cases()) {
    for (const int size : {127, 128, 129, 1000}) {
      for (const int root : {0, 1, size / 2, size - 1}) {
        expect_tree(tested, size, root);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Tree, RunsDoNotWrapWhereBlocksMayBeGathered) {
  for (int root = 0; root < 13; ++root) {
    EXPECT_EQ(Tree::flat(13, root).turn(), 0);
    EXPECT_EQ(Tree::binomial(13, root).turn(), 0);
    EXPECT_EQ(Tree::k_nomial(13, root, 4).turn(), 0);
  }
}

// Together the runs are all positions asked for, and each names ranks that stand side by side.
TEST(Tree, AscendingRunsCoverASubtree) {
  for (int root = 0; root < 5; ++root) {
    const Tree tree = Tree::chain(5, root);
    for (int rank = 0; rank < 5; ++rank) {
      const TreeNode node = tree.at(rank);
      int reached = node.first;
      for (const Tree::Run& run : tree.ascending_runs(node.first, node.last)) {
        EXPECT_EQ(run.first, reached);
        EXPECT_LT(run.first, run.last);
        EXPECT_EQ(tree.rank_at(run.last - 1) - tree.rank_at(run.first), run.last - 1 - run.first);
        reached = run.last;
      }
      EXPECT_EQ(reached, node.last);
    }
  }
}

TEST(Tree, BinomialOfEightIsTheClassicOne) {
  const Tree tree = Tree::binomial(8, 0);
  std::vector<int> sent;
  for (const auto& child : tree.at(0).children) sent.push_back(child.rank);
  EXPECT_EQ(sent, (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(tree.at(7).parent, 6);
  EXPECT_EQ(tree.at(6).parent, 4);
  EXPECT_EQ(tree.at(3).parent, 2);
  EXPECT_EQ(tree.depth(), 3);
}

TEST(Tree, DepthsAreExact) {
  EXPECT_EQ(Tree::chain(70, 3).depth(), 69);
  EXPECT_EQ(Tree::flat(70, 3).depth(), 1);
  EXPECT_EQ(Tree::binary(7, 3).depth(), 2);
  EXPECT_EQ(Tree::binary(8, 3).depth(), 3);
  EXPECT_EQ(Tree::binomial(64, 21).depth(), 6);
  EXPECT_EQ(Tree::k_nomial(64, 0, 4).depth(), 3);
}

}  // namespace
}  // namespace unisono::patterns
