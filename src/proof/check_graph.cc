// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace unisono::proof {

using patterns::Neighbor;
using patterns::Neighborhood;
using patterns::no_neighbor;

CheckedGraph::CheckedGraph(const schedule::Problem& problem, std::shared_ptr<const Neighborhood> all)
    : operation_(problem.operation),
      has_one_block_(!sends_neighbor_blocks(problem.operation)),
      layout_(problem.layout),
      all_(std::move(all)),
      known_(patterns::known_on_nodes(*all_, *layout_)) {
  find_sources();
  find_components();
}

void CheckedGraph::find_sources() {
  std::map<std::tuple<int, int, int>, int> sent;  // from, to, edge -> block
  for (int rank = 0; rank < all_->size(); ++rank) {
    const std::vector<Neighbor>& out = all_->of(rank).out;
    for (int i = 0; i < std::ssize(out); ++i) {
      const Neighbor& to = out[static_cast<std::size_t>(i)];
      if (to.rank != no_neighbor) sent.insert({{rank, to.rank, to.edge}, has_one_block_ ? 0 : i});
    }
  }
  for (int rank = 0; rank < all_->size(); ++rank) {
    std::vector<Source>& of = sources_.emplace_back();
    for (const Neighbor& from : all_->of(rank).in)
      of.push_back(from.rank == no_neighbor ? Source{}
                                            : Source{from.rank, sent.at({from.rank, rank, from.edge})});
  }
}

// What a rank sends and what those get who get it belong together.
void CheckedGraph::find_components() {
  const int size = all_->size();
  std::vector<int> parent(static_cast<std::size_t>(2 * size));
  std::iota(parent.begin(), parent.end(), 0);
  const auto top = [&](int at) {
    while (parent[static_cast<std::size_t>(at)] != at) at = parent[static_cast<std::size_t>(at)];
    return at;
  };
  for (int rank = 0; rank < size; ++rank) {
    for (const Source& source : sources_[static_cast<std::size_t>(rank)]) {
      if (source.rank == no_neighbor) continue;
      const int a = top(source.rank), b = top(size + rank);
      parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  std::map<int, int> numbers;
  const auto number = [&](int at) {
    return numbers.insert({top(at), static_cast<int>(numbers.size())}).first->second;
  };
  for (int rank = 0; rank < size; ++rank) sending_.push_back(number(rank));
  for (int rank = 0; rank < size; ++rank) receiving_.push_back(number(size + rank));
}

std::int64_t CheckedGraph::length(int component, int rank, int block, std::int64_t longest,
                                  int pattern) const {
  std::int64_t key = component;
  if (operation_ == Operation::neighbor_allgatherv) key = rank;
  if (operation_ == Operation::neighbor_alltoallv || operation_ == Operation::neighbor_alltoallw)
    key = rank * 3 + block * 2;
  switch (pattern) {
    case 1:
      return (longest + key) % (longest + 1);
    case 2:
      return key % 4 == 1 ? longest : 0;
    case 3:
      return key % 3 == 1 ? 0 : key % 2 == 0 ? longest : (longest + 1) / 2;
    default:
      return longest;
  }
}

std::int64_t CheckedGraph::sent(int rank, int block, std::int64_t longest, int pattern) const {
  return length(sending_[static_cast<std::size_t>(rank)], rank, block, longest, pattern);
}

// A block that nobody sends has a length too.
std::int64_t CheckedGraph::received(int rank, int index, std::int64_t longest, int pattern) const {
  const Source from = source(rank, index);
  return length(receiving_[static_cast<std::size_t>(rank)], from.rank == no_neighbor ? rank : from.rank,
                from.rank == no_neighbor ? index : from.block, longest, pattern);
}

std::vector<std::int64_t> CheckedGraph::told(const schedule::BlockTable& table, int rank,
                                             std::int64_t longest, int pattern) const {
  const std::vector<int>& ranks =
      layout_->ranks_of[static_cast<std::size_t>(layout_->node_of[static_cast<std::size_t>(rank)])];
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.told_by_rank) * ranks.size(), 0);
  for (int local = 0; local < std::ssize(ranks); ++local) {
    const int of = ranks[static_cast<std::size_t>(local)];
    for (int i = 0; i < sent_blocks(of); ++i)
      rows[static_cast<std::size_t>(table.told_out(local, i))] = sent(of, i, longest, pattern);
    for (int i = 0; i < received_blocks(of); ++i)
      rows[static_cast<std::size_t>(table.told_in(local, i))] = received(of, i, longest, pattern);
  }
  return rows;
}

}  // namespace unisono::proof
