// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/neighborhood.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "patterns/mixed_bits.h"
#include "patterns/node_partners.h"

namespace unisono::patterns {
namespace {

// The edges of one end's list, numbered for each other end.
std::vector<Neighbor> numbered(const std::vector<int>& ranks) {
  std::vector<Neighbor> neighbors;
  neighbors.reserve(ranks.size());
  std::unordered_map<int, int> seen;
  for (const int rank : ranks) neighbors.push_back({rank, rank == no_neighbor ? 0 : seen[rank]++});
  return neighbors;
}

std::uint64_t hash_of_edge(int from, int to, int edge) {
  const auto number = [](int value) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)); };
  return mixed_bits(mixed_bits(number(from) << 32 | number(to)) + number(edge) + 1);
}

// Blocks that go to, or come from, other nodes.
struct Crossing {
  int node = 0;
  BlockOnWay block;
  auto key() const { return std::tuple(node, block.source, block.destination, block.edge); }
};

// `blocks` in the order of both ends, each once, as bundles.
std::vector<Bundle> bundled(std::vector<Crossing> crossings, const Layout& layout, int node, bool are_sent) {
  const int nodes = layout.nodes();
  const auto distance = [&](int other) {
    return are_sent ? (other - node + nodes) % nodes : (node - other + nodes) % nodes;
  };
  std::ranges::stable_sort(crossings, {}, [](const Crossing& crossing) { return crossing.key(); });
  std::vector<Bundle> bundles;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing& crossing = crossings[i];
    if (i == 0 || crossings[i - 1].node != crossing.node) {
      const int from = are_sent ? node : crossing.node, to = are_sent ? crossing.node : node;
      bundles.push_back({from, to, rank_for(layout, from, to), rank_for(layout, to, from), {}});
    } else if (crossings[i - 1].key() == crossing.key()) {
      continue;
    }
    bundles.back().blocks.push_back(crossing.block);
  }
  std::ranges::sort(bundles, {}, [&](const Bundle& bundle) {
    return distance(are_sent ? bundle.to_node : bundle.from_node);
  });
  return bundles;
}

}  // namespace

Neighbors graph_neighbors(const std::vector<int>& sources, const std::vector<int>& destinations) {
  return {numbered(sources), numbered(destinations)};
}

Neighbors cartesian_neighbors(const std::vector<int>& ranks) {
  Neighbors neighbors;
  for (int i = 0; i < std::ssize(ranks); ++i) {
    neighbors.out.push_back({ranks[static_cast<std::size_t>(i)], i});
    neighbors.in.push_back({ranks[static_cast<std::size_t>(i)], i ^ 1});
  }
  return neighbors;
}

void Neighborhood::set(int rank, Neighbors neighbors) {
  of_[static_cast<std::size_t>(rank)] = std::move(neighbors);
  if (!knows(rank)) ++known_;
  is_known_[static_cast<std::size_t>(rank)] = true;
}

const Neighbors& Neighborhood::of(int rank) const {
  if (rank < 0 || rank >= size() || !knows(rank))
    throw std::logic_error("nobody here knows the neighbours of rank " + std::to_string(rank));
  return of_[static_cast<std::size_t>(rank)];
}

std::uint64_t Neighborhood::checksum(int rank) const {
  const Neighbors& own = of(rank);
  std::uint64_t sum = 0;
  for (const Neighbor& to : own.out) {
    if (to.rank != no_neighbor) sum += hash_of_edge(rank, to.rank, to.edge);
  }
  for (const Neighbor& from : own.in) {
    if (from.rank != no_neighbor) sum -= hash_of_edge(from.rank, rank, from.edge);
  }
  return sum;
}

std::vector<std::shared_ptr<const Neighborhood>> known_on_nodes(const Neighborhood& graph,
                                                                const Layout& layout) {
  std::vector<std::shared_ptr<const Neighborhood>> known;
  for (const std::vector<int>& ranks : layout.ranks_of) {
    const auto of_node = std::make_shared<Neighborhood>(graph.size());
    for (const int rank : ranks) of_node->set(rank, graph.of(rank));
    known.push_back(of_node);
  }
  return known;
}

NodeBundles node_bundles(const Neighborhood& neighborhood, const Layout& layout, int node,
                         bool has_one_block) {
  std::vector<Crossing> sent, received;
  for (const int rank : layout.ranks_of[static_cast<std::size_t>(node)]) {
    const Neighbors& own = neighborhood.of(rank);
    const auto add = [&](const std::vector<Neighbor>& neighbors, bool are_out,
                         std::vector<Crossing>* crossings) {
      for (int i = 0; i < std::ssize(neighbors); ++i) {
        const Neighbor& other = neighbors[static_cast<std::size_t>(i)];
        if (other.rank == no_neighbor) continue;
        const int other_node = layout.node_of[static_cast<std::size_t>(other.rank)];
        if (other_node == node) continue;
        BlockOnWay block{.source = are_out ? rank : other.rank, .owner = rank, .index = i};
        if (!has_one_block) block.destination = are_out ? other.rank : rank, block.edge = other.edge;
        crossings->push_back({other_node, block});
      }
    };
    add(own.out, true, &sent);
    add(own.in, false, &received);
  }
  return {bundled(std::move(sent), layout, node, true), bundled(std::move(received), layout, node, false)};
}

}  // namespace unisono::patterns
