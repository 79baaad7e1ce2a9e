// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/common_neighbors.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "patterns/index.h"

namespace unisono::patterns {

Destinations destinations_of(const Neighborhood& neighborhood) {
  Destinations of(at(neighborhood.size()));
  for (int rank = 0; rank < neighborhood.size(); ++rank) {
    std::vector<int>& own = of[at(rank)];
    for (const Neighbor& to : neighborhood.of(rank).out) {
      if (to.rank != no_neighbor && to.rank != rank) own.push_back(to.rank);
    }
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
  }
  return of;
}

Senders::Senders(const Destinations& destinations, const Layout& layout, Scope scope)
    : layout_(layout), scope_(scope), begins_(destinations.size() + 1, 0) {
  for (const auto& own : destinations) {
    for (const int to : own) ++begins_[at(to) + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  ranks_.resize(begins_.back());
  ends_.assign(begins_.begin(), begins_.end() - 1);
  for (const auto& ranks : layout.ranks_of) {
    for (const int rank : ranks) {
      for (const int to : destinations[at(rank)]) ranks_[ends_[at(to)]++] = rank;
    }
  }
}

std::span<const int> Senders::to(int rank, int asking) const {
  const std::span all(ranks_.data() + begins_[at(rank)], ends_[at(rank)] - begins_[at(rank)]);
  if (scope_ == Scope::all) return all;
  const auto node_of = [&](int sender) { return layout_.node_of[at(sender)]; };
  const auto found = std::ranges::equal_range(all, node_of(asking), {}, node_of);
  return {found.begin(), found.end()};
}

void Senders::forget(int rank, int sender) {
  const auto begin = ranks_.begin() + static_cast<std::ptrdiff_t>(begins_[at(rank)]);
  const auto end = ranks_.begin() + static_cast<std::ptrdiff_t>(ends_[at(rank)]);
  const auto key = [this](int of) { return std::pair(layout_.node_of[at(of)], of); };
  const auto found = std::lower_bound(begin, end, key(sender),
                                      [&](int one, const auto& wanted) { return key(one) < wanted; });
  if (found == end || *found != sender) return;
  std::copy(found + 1, end, found);
  --ends_[at(rank)];
}

FriendTable::FriendTable(int rank, const std::vector<int>& destinations, const Senders& senders,
                         int threshold, std::vector<int>* rows, const std::vector<int>* candidates)
    : words_(static_cast<int>((destinations.size() + bits_of_word - 1) / bits_of_word)) {
  std::vector<int> found, counts;
  std::vector<std::uint64_t> bits;
  const auto add = [&](int other, int index) {
    int& row = (*rows)[at(other)];
    if (row < 0) {
      row = static_cast<int>(found.size());
      found.push_back(other);
      counts.push_back(0);
      bits.resize(bits.size() + at(words_), 0);
    }
    bits[at(row) * at(words_) + at(index / bits_of_word)] |= std::uint64_t{1} << index % bits_of_word;
    ++counts[at(row)];
  };
  for (int index = 0; index < std::ssize(destinations); ++index) {
    for (const int other : senders.to(destinations[at(index)], rank)) {
      if (other == rank) continue;
      if (candidates == nullptr || std::ranges::binary_search(*candidates, other)) add(other, index);
    }
  }
  for (const int other : found) (*rows)[at(other)] = -1;
  std::vector<int> order;
  for (int row = 0; row < std::ssize(found); ++row) {
    if (counts[at(row)] > threshold) order.push_back(row);
  }
  std::ranges::sort(order, [&](int a, int b) {
    return counts[at(a)] != counts[at(b)] ? counts[at(a)] > counts[at(b)] : found[at(a)] < found[at(b)];
  });
  bits_.reserve(order.size() * at(words_));
  for (const int row : order) {
    ranks_.push_back(found[at(row)]);
    weights_.push_back(counts[at(row)]);
    const auto first = bits.begin() + static_cast<std::ptrdiff_t>(row) * words_;
    bits_.insert(bits_.end(), first, first + words_);
  }
}

int intersect(const std::uint64_t* left, const std::uint64_t* right, int words, std::uint64_t* result) {
  int count = 0;
  for (int word = 0; word < words; ++word) {
    result[word] = left[word] & right[word];
    count += std::popcount(result[word]);
  }
  return count;
}

}  // namespace unisono::patterns
