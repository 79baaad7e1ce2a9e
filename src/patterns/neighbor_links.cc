// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/neighbor_links.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "patterns/exchange.h"

namespace unisono::patterns {
namespace {

// Links to all ranks at the other ends of `neighbors` but this one, the nearest first.
std::vector<NeighborLink> linked(const std::vector<Neighbor>& neighbors, int rank, int size) {
  std::vector<int> order;
  for (int i = 0; i < std::ssize(neighbors); ++i) {
    const int peer = neighbors[static_cast<std::size_t>(i)].rank;
    if (peer != no_neighbor && peer != rank) order.push_back(i);
  }
  const auto at = [&](int i) -> const Neighbor& { return neighbors[static_cast<std::size_t>(i)]; };
  std::ranges::sort(order, {}, [&](int i) { return std::pair(wrap(at(i).rank - rank, size), at(i).edge); });
  std::vector<NeighborLink> links;
  for (const int i : order) {
    if (links.empty() || links.back().peer != at(i).rank)
      links.push_back({at(i).rank, static_cast<int>(links.size()), {}});
    links.back().blocks.push_back(i);
  }
  return links;
}

}  // namespace

std::vector<int> NeighborLinks::readers() const {
  std::vector<int> ranks;
  for (const NeighborLink& link : sent) ranks.push_back(link.peer);
  return ranks;
}

NeighborLinks links_of(const Neighborhood& neighborhood, int rank) {
  const int size = neighborhood.size();
  const Neighbors& own = neighborhood.of(rank);
  NeighborLinks links{.sent = linked(own.out, rank, size), .got = linked(own.in, rank, size), .own = {}};
  for (int other = 0; other < size; ++other) {
    if (!neighborhood.knows(other)) continue;
    const std::vector<NeighborLink> its = linked(neighborhood.of(other).out, other, size);
    links.most_sent = std::max(links.most_sent, static_cast<int>(its.size()));
    // The sender has put the link at a place of its own.
    const auto there = std::ranges::find(its, rank, &NeighborLink::peer);
    const auto here = std::ranges::find(links.got, other, &NeighborLink::peer);
    if (there != its.end() && here != links.got.end()) here->place = there->place;
  }
  for (int i = 0; i < std::ssize(own.out); ++i) {
    const Neighbor& out = own.out[static_cast<std::size_t>(i)];
    if (out.rank != rank) continue;
    const auto in = std::ranges::find(own.in, out);
    if (in == own.in.end()) throw std::logic_error("an edge that is known at one end alone");
    links.own.push_back({i, static_cast<int>(in - own.in.begin())});
  }
  return links;
}

}  // namespace unisono::patterns
