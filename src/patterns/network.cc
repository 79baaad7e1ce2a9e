// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/network.h"

#include <algorithm>

namespace unisono::patterns {

namespace {

// Vertices: ranks, nodes, switches. The link up from vertex v has number 2v, the one down to it 2v + 1.
constexpr int up_from(int vertex) {
  return 2 * vertex;
}
constexpr int down_to(int vertex) {
  return 2 * vertex + 1;
}

}  // namespace

Network::Network(const Layout& layout) : ranks_(layout.size()), nodes_(layout.nodes()) {
  const int first_switch = ranks_ + nodes_;
  for (int rank = 0; rank < ranks_; ++rank) above_.push_back(ranks_ + layout.node_of[rank]);
  const bool has_switches = layout.switches != nullptr && layout.switches->why_unusable.empty();
  for (int node = 0; node < nodes_; ++node) {
    above_.push_back(first_switch + (has_switches ? layout.switch_of[node] : 0));
  }
  switches_ = has_switches ? layout.switches->names : std::vector<std::string>{"0"};
  for (int i = 0; i < static_cast<int>(switches_.size()); ++i) {
    const int above = has_switches ? layout.switches->above[i] : -1;
    above_.push_back(above < 0 ? -1 : first_switch + above);
    if (above < 0) top_ = first_switch + i;
  }
  weight_.resize(above_.size());
  below_.resize(above_.size());
  // From the lowest rank up, so that each vertex gets those below it in the order of their lowest ranks.
  for (int rank = 0; rank < ranks_; ++rank) {
    int vertex = rank;
    for (; vertex >= 0; vertex = above_[vertex]) {
      if (++weight_[vertex] == 1 && above_[vertex] >= 0) below_[above_[vertex]].push_back(vertex);
    }
  }
  for (std::size_t vertex = 0; vertex < above_.size(); ++vertex) {
    depth_.push_back(0);
    for (int at = above_[vertex]; at >= 0; at = above_[at]) ++depth_.back();
  }
}

std::vector<int> Network::way(int from, int to) const {
  std::vector<int> upwards;
  std::vector<int> downwards;
  while (from != to) {
    if (depth_[from] >= depth_[to]) {
      upwards.push_back(up_from(from));
      from = above_[from];
    } else {
      downwards.push_back(down_to(to));
      to = above_[to];
    }
  }
  upwards.insert(upwards.end(), downwards.rbegin(), downwards.rend());
  return upwards;
}

std::string Network::name(int vertex) const {
  if (vertex < ranks_) return "rank " + std::to_string(vertex);
  if (vertex < ranks_ + nodes_) return "node " + std::to_string(vertex - ranks_);
  return "switch " + switches_[vertex - ranks_ - nodes_];
}

std::string Network::name_of_link(int link) const {
  const int vertex = link / 2;
  const bool is_up = link == up_from(vertex);
  return name(is_up ? vertex : above_[vertex]) + " -> " + name(is_up ? above_[vertex] : vertex);
}

int Network::busiest_link() const {
  int busiest = 0;
  for (int vertex = 0; vertex < static_cast<int>(above_.size()); ++vertex) {
    if (above_[vertex] >= 0 && load(vertex) >= load(busiest)) busiest = vertex;
  }
  return up_from(busiest);
}

std::int64_t Network::least_phases() const {
  return load(busiest_link() / 2);
}

std::vector<std::vector<int>> Network::around_the_middle() const {
  int middle = top_;
  const auto holds_most = [this](int vertex) { return 2 * weight_[vertex] > ranks_; };
  while (true) {
    const auto heavy = std::find_if(below_[middle].begin(), below_[middle].end(), holds_most);
    // A rank alone holds most only where there is but one.
    if (heavy == below_[middle].end() || *heavy < ranks_) break;
    middle = *heavy;
  }
  std::vector<std::vector<int>> directions;
  std::vector<bool> is_below(static_cast<std::size_t>(ranks_));
  for (const int vertex : below_[middle]) {
    directions.emplace_back();
    append_ranks(vertex, &directions.back());
    for (const int rank : directions.back()) is_below[rank] = true;
  }
  std::vector<int> others;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!is_below[rank]) others.push_back(rank);
  }
  if (!others.empty()) directions.push_back(std::move(others));
  std::stable_sort(directions.begin(), directions.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return directions;
}

std::vector<int> Network::ring_order() const {
  std::vector<int> order;
  append_ranks(top_, &order);
  return order;
}

void Network::append_ranks(int vertex, std::vector<int>* order) const {
  if (vertex < ranks_) order->push_back(vertex);
  for (const int below : below_[vertex]) append_ranks(below, order);
}

}  // namespace unisono::patterns
