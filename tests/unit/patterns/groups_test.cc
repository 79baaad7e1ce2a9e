// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/groups.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "patterns/graphs.h"
#include "patterns/grown_groups.h"

namespace unisono::patterns {
namespace {

Layout layout_of(int ranks, int per_node) {
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank / per_node);
  return Layout::from_labels(labels);
}

Destinations graph(const std::string& text, int ranks) {
  return destinations_of(*parse_graph(text, ranks));
}

TEST(Groups, thresholds_are_the_sources) {
  EXPECT_EQ(threshold_of({.size = 4, .scope = Scope::node}), 4);
  EXPECT_EQ(threshold_of({.size = 4, .scope = Scope::all}), 12);
  EXPECT_EQ(threshold_of({.size = 4, .threshold = 1}), 1);
}

TEST(Groups, parts_are_equal_and_the_first_ones_larger) {
  const Group group{{3, 5, 9}, {1, 2, 4, 6, 7}};
  EXPECT_EQ(part_of(group, 0), (std::vector<int>{1, 2}));
  EXPECT_EQ(part_of(group, 1), (std::vector<int>{4, 6}));
  EXPECT_EQ(part_of(group, 2), (std::vector<int>{7}));
}

// On an 8 x 8 torus of radius 1 two ranks beside each other share 4 destinations, with one between them 3,
// and others at most 2.
TEST(Groups, hyperedges_of_a_torus_by_hand) {
  const Destinations torus = graph("moore:2,1", 64);
  EXPECT_EQ(count_hyperedges(torus, layout_of(64, 64), {.size = 2, .scope = Scope::all}).per_rank, 8);
  // Four ranks of a row on each node: the outer ones have two such friends there, the inner ones three.
  EXPECT_EQ(count_hyperedges(torus, layout_of(64, 4), {.size = 2, .scope = Scope::node}).per_rank, 2.5);
  EXPECT_EQ(count_hyperedges(torus, layout_of(64, 64), {.size = 4, .scope = Scope::all}).per_rank, 0);
}

TEST(Groups, hyperedges_say_when_there_are_more) {
  const Destinations dense = graph("complete", 32);
  EXPECT_TRUE(count_hyperedges(dense, layout_of(32, 32), {.size = 3}).is_complete);
  EXPECT_FALSE(count_hyperedges(dense, layout_of(32, 32), {.size = 3, .most_steps = 100}).is_complete);
}

// 4096 ranks, 40 a node, and 1024 ranks, 32 a node: figures 7.5 and 7.9.
TEST(Groups, hyperedges_of_the_sources_graphs) {
  const Layout layout = layout_of(4096, 40);
  const Destinations moore = graph("moore:2,3", 4096);
  EXPECT_NEAR(count_hyperedges(moore, layout, {.size = 2}).per_rank, 10.9, 0.05);
  EXPECT_NEAR(count_hyperedges(moore, layout, {.size = 4}).per_rank, 69.4, 0.05);
  EXPECT_EQ(count_hyperedges(moore, layout, {.size = 8}).per_rank, 0);
  EXPECT_EQ(count_hyperedges(moore, layout, {.size = 2, .scope = Scope::all}).per_rank, 156);
  const Destinations random = graph("random:0.4", 1024);
  EXPECT_EQ(count_hyperedges(random, layout_of(1024, 32), {.size = 3}).per_rank, 465);
}

TEST(Groups, a_pair_shares_what_it_has_in_common) {
  Destinations destinations(6);
  destinations[0] = {2, 3, 4, 5};
  destinations[1] = {2, 3, 4, 5};
  const Grouping grouping = friend_groups(destinations, layout_of(6, 2), {.size = 2});
  ASSERT_EQ(grouping.steps.size(), 1u);
  ASSERT_EQ(grouping.steps[0].size(), 1u);
  EXPECT_EQ(grouping.steps[0][0], (Group{{0, 1}, {2, 3, 4, 5}}));
  EXPECT_TRUE(grouping.left[0].empty() && grouping.left[1].empty());
  // With two in common an exchange would save nothing.
  destinations[0] = destinations[1] = {2, 3};
  EXPECT_TRUE(friend_groups(destinations, layout_of(6, 2), {.size = 2}).steps.empty());
}

TEST(Groups, members_share_a_node_where_they_must) {
  const Layout layout = layout_of(48, 6);
  for (const Scope scope : {Scope::node, Scope::all}) {
    std::set<int> nodes_apart;
    const Grouping grouping = friend_groups(graph("random:0.5", 48), layout, {.size = 2, .scope = scope});
    for (const auto& groups : grouping.steps) {
      for (const Group& group : groups) {
        if (layout.node_of[group.members[0]] != layout.node_of[group.members[1]])
          nodes_apart.insert(group.members[0]);
      }
    }
    EXPECT_EQ(nodes_apart.empty(), scope == Scope::node);
  }
}

// Each block goes to each destination once, and no rank is in two groups of a step.
void expect_each_edge_once(const Destinations& destinations, const Grouping& grouping) {
  std::multiset<std::pair<int, int>> wanted, got;
  for (int rank = 0; rank < std::ssize(destinations); ++rank) {
    for (const int to : destinations[rank]) wanted.emplace(rank, to);
    for (const int to : grouping.left[rank]) got.emplace(rank, to);
  }
  for (const auto& groups : grouping.steps) {
    std::set<int> members;
    for (const Group& group : groups) {
      for (const int member : group.members) {
        EXPECT_TRUE(members.insert(member).second);
        for (const int to : group.destinations) got.emplace(member, to);
      }
    }
  }
  EXPECT_EQ(wanted, got);
}

TEST(Groups, each_edge_once) {
  for (const char* text : {"moore:2,2", "random:0.2", "random:0.7,3", "complete", "ring"}) {
    const Destinations destinations = graph(text, 60);
    const Layout layout = layout_of(60, 8);
    for (const Scope scope : {Scope::node, Scope::all}) {
      for (const int size : {2, 3, 4})
        expect_each_edge_once(destinations,
                              friend_groups(destinations, layout, {.size = size, .scope = scope}));
      for (const Candidates candidates : {Candidates::all, Candidates::hashed})
        expect_each_edge_once(destinations,
                              grown_groups(destinations, layout, {.scope = scope, .candidates = candidates}));
    }
  }
}

TEST(Groups, grown_groups_save_at_least_what_pairs_do) {
  const Destinations destinations = graph("moore:2,3", 400);
  const Layout layout = layout_of(400, 20);
  const auto left = [](const Grouping& grouping) {
    std::int64_t messages = 0;
    for (const auto& own : grouping.left) messages += std::ssize(own);
    for (const auto& groups : grouping.steps) {
      for (const Group& group : groups)
        messages +=
            std::ssize(group.destinations) + std::ssize(group.members) * (std::ssize(group.members) - 1);
    }
    return messages;
  };
  EXPECT_LT(left(grown_groups(destinations, layout, {})),
            left(friend_groups(destinations, layout, {.size = 2})));
}

TEST(Groups, what_takes_too_much_is_not_looked_for) {
  const Destinations dense = graph("random:0.8", 64);
  EXPECT_NE(friend_groups(dense, layout_of(64, 64), {.size = 3, .most_bytes = 1000}).problem, "");
  EXPECT_NE(friend_groups(dense, layout_of(64, 64), {.size = 6, .most_steps = 1000}).problem, "");
  EXPECT_EQ(friend_groups(dense, layout_of(64, 64), {.size = 2}).problem, "");
}

TEST(Groups, requests_take_few_rounds_on_a_torus) {
  // Ties by rank would run along its lines.
  EXPECT_LE(friend_groups(graph("moore:2,1", 1024), layout_of(1024, 1024), {.size = 2}).request_rounds, 15);
}

}  // namespace
}  // namespace unisono::patterns
