// SPDX-License-Identifier: BSD-3-Clause
// The order of neighbours by MPI's rules, the checksum, and the bundles. Two nodes find out about the edges
// between them, each from the lists of its own ranks alone.
#include "patterns/neighborhood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "patterns/graphs.h"
#include "patterns/neighbor_links.h"

namespace unisono::patterns {
namespace {

using Lists = std::vector<std::vector<int>>;  // by rank: sources, or destinations

struct Graph {
  Lists sources, destinations;
  int size() const { return static_cast<int>(sources.size()); }
  Neighborhood neighborhood() const {
    Neighborhood all(size());
    for (int rank = 0; rank < size(); ++rank)
      all.set(rank, graph_neighbors(sources[static_cast<std::size_t>(rank)],
                                    destinations[static_cast<std::size_t>(rank)]));
    return all;
  }
};

Graph random_graph(std::mt19937* random, int most_ranks) {
  const auto size = static_cast<std::size_t>(1 + (*random)() % static_cast<unsigned>(most_ranks));
  Graph graph{Lists(size), Lists(size)};
  for (std::size_t edges = (*random)() % (4 * size + 1); edges > 0; --edges) {
    const std::size_t from = (*random)() % size, to = (*random)() % size;
    for (unsigned times = 1 + ((*random)() % 4 == 0); times > 0; --times) {
      graph.destinations[from].push_back(static_cast<int>(to));
      graph.sources[to].push_back(static_cast<int>(from));
    }
  }
  for (Lists* lists : {&graph.sources, &graph.destinations}) {
    for (std::vector<int>& list : *lists) std::ranges::shuffle(list, *random);
  }
  return graph;
}

std::uint64_t checksum(const Neighborhood& all) {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < all.size(); ++rank) sum += all.checksum(rank);
  return sum;
}

TEST(Neighbors, TheKthEdgeOfAPairMeetsTheKth) {
  const Neighbors own = graph_neighbors({3, 1, 3, no_neighbor, 3}, {2, 2});
  EXPECT_EQ(own.in, (std::vector<Neighbor>{{3, 0}, {1, 0}, {3, 1}, {no_neighbor, 0}, {3, 2}}));
  EXPECT_EQ(own.out, (std::vector<Neighbor>{{2, 0}, {2, 1}}));
}

// MPI 4.1, section 8.6, and its example 8.10: also where both neighbours of a dimension are one process.
TEST(Neighbors, OnAGridWhatGoesDownComesFromAbove) {
  const Neighborhood two = cartesian_neighborhood({2}, true);
  EXPECT_EQ(two.of(0).out, (std::vector<Neighbor>{{1, 0}, {1, 1}}));
  EXPECT_EQ(two.of(1).in, (std::vector<Neighbor>{{0, 1}, {0, 0}}));
  EXPECT_EQ(cartesian_neighborhood({1}, true).of(0).in, (std::vector<Neighbor>{{0, 1}, {0, 0}}));
}

TEST(Neighbors, NobodyKnowsOthersNeighbors) {
  Neighborhood known(3);
  known.set(1, {});
  EXPECT_NO_THROW(known.of(1));
  for (const int rank : {-1, 0, 2, 3}) EXPECT_THROW(known.of(rank), std::logic_error) << rank;
}

TEST(Checksum, FindsEveryGraphThatRanksDescribeDifferently) {
  std::mt19937 random(1);
  int changed = 0;
  for (int i = 0; i < 3000; ++i) {
    Graph graph = random_graph(&random, 20);
    EXPECT_EQ(checksum(graph.neighborhood()), 0u);
    Lists& lists = random() % 2 == 0 ? graph.sources : graph.destinations;
    std::vector<int>& list = lists[random() % lists.size()];
    const int other = static_cast<int>(random() % lists.size());
    switch (random() % 4) {
      case 0:  // an edge more, at one of its ends
        list.push_back(other);
        break;
      case 1:  // one fewer
        if (list.empty()) continue;
        list.pop_back();
        break;
      case 2:  // one from, or to, another rank
        if (list.empty() || list.front() == other) continue;
        list.front() = other;
        break;
      default:  // nobody in place of somebody
        if (list.empty()) continue;
        list.back() = no_neighbor;
    }
    ++changed;
    EXPECT_NE(checksum(graph.neighborhood()), 0u) << "graph " << i;
  }
  EXPECT_GE(changed, 2000);
}

using BlockKey = std::tuple<int, int, int>;  // source, destination, edge
std::vector<BlockKey> keys_of(const Bundle& bundle) {
  std::vector<BlockKey> keys;
  for (const BlockOnWay& block : bundle.blocks)
    keys.emplace_back(block.source, block.destination, block.edge);
  return keys;
}

class Bundles : public testing::TestWithParam<bool> {};

// Both nodes name the same blocks in the same order and the same two ranks. There is a bundle for each pair
// of nodes with an edge, and in it each block once.
TEST_P(Bundles, AreTheSameAtBothEnds) {
  const bool has_one_block = GetParam();
  std::mt19937 random(2);
  int bundles = 0;
  for (int i = 0; i < 400; ++i) {
    const Graph graph = random_graph(&random, 33);
    const Neighborhood all = graph.neighborhood();
    std::vector<int> labels;
    for (int rank = 0; rank < graph.size(); ++rank) labels.push_back(static_cast<int>(random() % 5));
    const Layout layout = Layout::from_labels(labels);
    const auto known = known_on_nodes(all, layout);
    std::map<std::pair<int, int>, Bundle> sent;
    std::map<std::pair<int, int>, std::vector<BlockKey>> wanted;
    for (int rank = 0; rank < graph.size(); ++rank) {
      for (const Neighbor& to : all.of(rank).out) {
        const std::pair nodes(layout.node_of[rank], layout.node_of[to.rank]);
        if (nodes.first == nodes.second) continue;
        wanted[nodes].push_back(has_one_block ? BlockKey(rank, no_neighbor, 0)
                                              : BlockKey(rank, to.rank, to.edge));
      }
    }
    for (int node = 0; node < layout.nodes(); ++node) {
      for (const Bundle& bundle : node_bundles(*known[node], layout, node, has_one_block).sent) {
        EXPECT_EQ(bundle.from_node, node);
        EXPECT_TRUE(sent.insert({{node, bundle.to_node}, bundle}).second);
        for (const BlockOnWay& block : bundle.blocks) {
          EXPECT_EQ(block.owner, block.source);
          const Neighbor& to = all.of(block.owner).out[block.index];
          EXPECT_EQ(layout.node_of[to.rank], bundle.to_node);
        }
      }
    }
    EXPECT_EQ(sent.size(), wanted.size());
    for (auto& [nodes, blocks] : wanted) {
      std::ranges::sort(blocks);
      blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
      ASSERT_EQ(sent.count(nodes), 1u);
      EXPECT_EQ(keys_of(sent[nodes]), blocks);
    }
    for (int node = 0; node < layout.nodes(); ++node) {
      for (const Bundle& bundle : node_bundles(*known[node], layout, node, has_one_block).received) {
        const auto found = sent.find({bundle.from_node, node});
        ASSERT_NE(found, sent.end());
        EXPECT_EQ(keys_of(bundle), keys_of(found->second));
        EXPECT_EQ(bundle.sender, found->second.sender);
        EXPECT_EQ(bundle.receiver, found->second.receiver);
        EXPECT_EQ(layout.node_of[bundle.sender], bundle.from_node);
        EXPECT_EQ(layout.node_of[bundle.receiver], node);
        for (const BlockOnWay& block : bundle.blocks)
          EXPECT_EQ(all.of(block.owner).in[block.index].rank, block.source);
        sent.erase(found);
        ++bundles;
      }
    }
    EXPECT_TRUE(sent.empty());
  }
  EXPECT_GE(bundles, 2000);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Bundles, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfARank" : "OfAnEdge"; });

// Both ends of a link see the same edges in the same order, and the reader finds the sender's place.
TEST(NeighborLinks, BothEndsSayAlike) {
  std::mt19937 random(11);
  for (int times = 0; times < 300; ++times) {
    const Graph graph = random_graph(&random, 7);
    const Neighborhood all = graph.neighborhood();
    std::vector<NeighborLinks> links;
    for (int rank = 0; rank < graph.size(); ++rank) links.push_back(links_of(all, rank));
    std::size_t edges = 0, linked = 0, most = 0;
    for (int rank = 0; rank < graph.size(); ++rank) {
      const NeighborLinks& own = links[static_cast<std::size_t>(rank)];
      edges += all.of(rank).in.size();
      linked += own.own.size();
      most = std::max(most, own.sent.size());
      for (const OwnEdge& edge : own.own) {
        EXPECT_EQ(all.of(rank).out[static_cast<std::size_t>(edge.out)],
                  all.of(rank).in[static_cast<std::size_t>(edge.in)]);
      }
      for (const NeighborLink& got : own.got) {
        linked += got.blocks.size();
        const auto& sent = links[static_cast<std::size_t>(got.peer)].sent;
        const auto& its = sent.at(static_cast<std::size_t>(got.place));
        ASSERT_EQ(its.peer, rank);
        ASSERT_EQ(its.blocks.size(), got.blocks.size());
        for (std::size_t i = 0; i < got.blocks.size(); ++i) {
          EXPECT_EQ(all.of(rank).in[static_cast<std::size_t>(got.blocks[i])].edge,
                    all.of(got.peer).out[static_cast<std::size_t>(its.blocks[i])].edge);
        }
      }
    }
    EXPECT_EQ(linked, edges) << "each edge once";
    for (const NeighborLinks& own : links) EXPECT_EQ(static_cast<std::size_t>(own.most_sent), most);
  }
}

TEST(NeighborLinks, AroundACircleOfTwoBothEdgesAreOneLink) {
  Neighborhood all(2);
  for (const int rank : {0, 1}) all.set(rank, cartesian_neighbors({1 - rank, 1 - rank}));
  const NeighborLinks links = links_of(all, 0);
  ASSERT_EQ(links.sent.size(), 1U);
  // What is sent downwards comes from above.
  EXPECT_EQ(links.sent[0].blocks.size(), 2U);
  EXPECT_NE(links.sent[0].blocks, links.got[0].blocks);
}

}  // namespace
}  // namespace unisono::patterns
