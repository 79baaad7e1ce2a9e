// SPDX-License-Identifier: BSD-3-Clause
// Which ranks send to the same ones, and how many they have in common. Pure arithmetic on all ranks' lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patterns/layout.h"
#include "patterns/neighborhood.h"

namespace unisono::patterns {

// Of each rank, who gets its block: ascending, each once, without itself.
using Destinations = std::vector<std::vector<int>>;
Destinations destinations_of(const Neighborhood& neighborhood);

// Who may join whom.
enum class Scope {
  node,  // ranks of one node: topology-aware
  all,   // any ranks: topology-agnostic
};

// The other direction: who sends to a rank.
class Senders {
 public:
  Senders(const Destinations& destinations, const Layout& layout, Scope scope);
  // Those that `asking` may join, itself among them where it sends.
  std::span<const int> to(int rank, int asking) const;
  // `sender` no longer sends to `rank`.
  void forget(int rank, int sender);

 private:
  const Layout& layout_;
  Scope scope_;
  std::vector<std::size_t> begins_, ends_;
  std::vector<int> ranks_;  // of each destination in the order of nodes
};

// Matrix A of the source: a rank's friends, and which of its destinations each one shares, as bits.
class FriendTable {
 public:
  // Those with more than `threshold` in common, the most first. `rows` is working space: -1 for each rank,
  // and left so. `candidates`: only these, ascending; null: all in scope.
  FriendTable(int rank, const std::vector<int>& destinations, const Senders& senders, int threshold,
              std::vector<int>* rows, const std::vector<int>* candidates = nullptr);

  int size() const { return static_cast<int>(ranks_.size()); }
  int words() const { return words_; }
  int rank(int row) const { return ranks_[static_cast<std::size_t>(row)]; }
  int weight(int row) const { return weights_[static_cast<std::size_t>(row)]; }
  const std::uint64_t* bits(int row) const {
    return bits_.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(words_);
  }
  std::size_t bytes() const { return bits_.size() * sizeof(bits_[0]) + ranks_.size() * 2 * sizeof(int); }

 private:
  int words_;
  std::vector<int> ranks_;
  std::vector<int> weights_;
  std::vector<std::uint64_t> bits_;
};

// What both have: bits into `result`, their number returned.
int intersect(const std::uint64_t* left, const std::uint64_t* right, int words, std::uint64_t* result);

}  // namespace unisono::patterns
