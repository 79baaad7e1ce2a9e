// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/traffic.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <utility>

#include "patterns/graphs.h"

namespace unisono::patterns {
namespace {

Layout layout_of(int ranks, int per_node) {
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank / per_node);
  return Layout::from_labels(labels);
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Pairs of a source and a node, and of two nodes, with an edge between them.
std::pair<std::int64_t, std::int64_t> bounds(const Destinations& destinations, const Layout& layout) {
  std::set<std::pair<int, int>> sources, nodes;
  for (int rank = 0; rank < std::ssize(destinations); ++rank) {
    for (const int to : destinations[rank]) {
      if (layout.node_of[to] == layout.node_of[rank]) continue;
      sources.emplace(rank, layout.node_of[to]);
      nodes.emplace(layout.node_of[rank], layout.node_of[to]);
    }
  }
  return {std::ssize(sources), std::ssize(nodes)};
}

TEST(VirtualMesh, goes_along_one_dimension_after_the_other) {
  const VirtualMesh mesh({2, 3}, 6);
  EXPECT_EQ(mesh.text(), "2x3");
  EXPECT_EQ(mesh.point_of(1, 5, 0), 1);
  EXPECT_EQ(mesh.point_of(1, 5, 1), 4);
  EXPECT_EQ(mesh.point_of(1, 5, 2), 5);
}

TEST(VirtualMesh, places_without_a_point_are_kept_by_others) {
  const VirtualMesh mesh = VirtualMesh::of_twos(3);
  EXPECT_EQ(mesh.text(), "2x2");
  EXPECT_EQ(mesh.point_of(1, 2, 1), 1);  // not 3
  for (const int points : {1, 2, 5, 7, 13, 100}) {
    const VirtualMesh twos = VirtualMesh::of_twos(points);
    for (int from = 0; from < points; ++from) {
      for (int to = 0; to < points; ++to) {
        EXPECT_EQ(twos.point_of(from, to, 0), from);
        EXPECT_EQ(twos.point_of(from, to, twos.dimensions()), to);
        for (int phase = 0; phase < twos.dimensions(); ++phase) {
          EXPECT_GE(twos.point_of(from, to, phase), 0);
          EXPECT_LT(twos.point_of(from, to, phase), points);
        }
      }
    }
  }
}

TEST(VirtualMesh, a_block_takes_a_way_once) {
  const auto phases = hops_over(VirtualMesh({2, 2}, 4), {{7, 0, 2}, {7, 0, 3}, {8, 0, 1}});
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0], (std::vector<Hop>{{0, 2, 7}}));
  EXPECT_EQ(phases[1], (std::vector<Hop>{{0, 1, 8}, {2, 3, 7}}));
}

TEST(Traffic, of_a_ring_by_hand) {
  const Layout layout = layout_of(8, 4);
  const Neighborhood ring = *parse_graph("ring", 8);
  const Traffic linear = linear_traffic(ring, layout);
  EXPECT_EQ(linear.sent(), std::vector<std::int64_t>(8, 2));
  EXPECT_EQ(linear.sent_away(), (std::vector<std::int64_t>{1, 0, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(linear.matrix(), (std::vector<std::int64_t>{0, 2, 2, 0}));
  ASSERT_EQ(linear.phases().size(), 1u);
  EXPECT_EQ(linear.phases()[0].messages, 4);
  EXPECT_EQ(linear.phases()[0].blocks_between, 2);
  EXPECT_EQ(linear.phases()[0].blocks_inside, 4);
  const Traffic bundles = bundle_traffic(ring, layout, true);
  EXPECT_EQ(sum(bundles.sent()), 2);
  EXPECT_EQ(bundles.blocks_into(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(bundles.matrix(), (std::vector<std::int64_t>{0, 1, 1, 0}));
}

TEST(Traffic, bundles_and_once_meet_the_bounds) {
  for (const char* text : {"moore:2,2", "random:0.1", "random:0.6", "complete", "ring"}) {
    const Layout layout = layout_of(90, 8);
    const Neighborhood graph = *parse_graph(text, 90);
    const Destinations destinations = destinations_of(graph);
    const auto [blocks, pairs] = bounds(destinations, layout);
    const Traffic bundles = bundle_traffic(graph, layout, true),
                  once = once_traffic(destinations, graph, layout);
    EXPECT_EQ(sum(bundles.sent()), pairs) << text;
    EXPECT_EQ(sum(bundles.blocks_into()), blocks) << text;
    EXPECT_EQ(sum(once.sent()), blocks) << text;
    EXPECT_EQ(sum(once.blocks_into()), blocks) << text;
  }
}

TEST(Traffic, alltoall_has_a_block_for_each_edge) {
  const Layout layout = layout_of(30, 5);
  const Neighborhood graph = *parse_graph("random:0.4", 30);
  const Traffic linear = linear_traffic(graph, layout), bundles = bundle_traffic(graph, layout, false);
  EXPECT_EQ(bundles.blocks_into(), linear.blocks_into());
}

TEST(Traffic, a_mesh_of_one_dimension_is_bundles) {
  const Layout layout = layout_of(60, 6);
  const Neighborhood graph = *parse_graph("random:0.2", 60);
  const Traffic bundles = bundle_traffic(graph, layout, true);
  const Traffic mesh =
      mesh_traffic(destinations_of(graph), graph, layout, VirtualMesh({10}, 10), MeshOf::nodes);
  EXPECT_EQ(mesh.sent(), bundles.sent());
  EXPECT_EQ(mesh.blocks_into(), bundles.blocks_into());
}

TEST(Traffic, along_a_torus_ranks_send_twice_the_radius_in_each_dimension) {
  const Neighborhood graph = *parse_graph("moore:2,2", 64);
  const Traffic mesh =
      mesh_traffic(destinations_of(graph), graph, layout_of(64, 8), VirtualMesh({8, 8}, 64), MeshOf::ranks);
  EXPECT_EQ(mesh.sent(), std::vector<std::int64_t>(64, 8));
}

TEST(Traffic, of_a_pair_by_hand) {
  Destinations destinations(6);
  destinations[0] = destinations[1] = {2, 3, 4, 5};
  const Layout layout = layout_of(6, 2);
  const Grouping grouping = friend_groups(destinations, layout, {.size = 2});
  const Traffic traffic = group_traffic(grouping, destinations, layout, Combining::once);
  // One to the friend, two to the others, each with both blocks.
  EXPECT_EQ(traffic.sent(), (std::vector<std::int64_t>{3, 3, 0, 0, 0, 0}));
  EXPECT_EQ(traffic.sent_away(), (std::vector<std::int64_t>{2, 2, 0, 0, 0, 0}));
  EXPECT_EQ(traffic.blocks_into(), (std::vector<std::int64_t>{0, 4, 4}));
}

TEST(Traffic, cumulative_pairs_carry_each_block_once) {
  const Neighborhood graph = *parse_graph("random:0.5", 64);
  const Destinations destinations = destinations_of(graph);
  const Layout layout = layout_of(64, 8);
  const GroupOptions options{.size = 2, .combining = Combining::cumulative};
  const Grouping grouping = friend_groups(destinations, layout, options);
  const Traffic pairs = group_traffic(grouping, destinations, layout, Combining::cumulative);
  const Traffic linear = linear_traffic(graph, layout);
  EXPECT_EQ(pairs.blocks_into(), linear.blocks_into());
  EXPECT_LT(sum(pairs.sent()), sum(linear.sent()) / 2);
}

}  // namespace
}  // namespace unisono::patterns
