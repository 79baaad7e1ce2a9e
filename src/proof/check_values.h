// SPDX-License-Identifier: BSD-3-Clause
// Symbolic data for the checker: what an element of a buffer holds, as an expression over the ranks' inputs.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace unisono::proof {

// One element: element number `element` of an expression's vector (of the rank's input for a leaf).
struct Cell {
  std::int32_t value = -1;  // of Expressions; -1: never written
  std::int32_t element = 0;
  bool operator==(const Cell&) const = default;
};

// All expressions that a check meets. Equal expressions have equal numbers, where operands count as
// exchangeable if the operator commutes: so equal numbers mean equal bits also in floating point.
class Expressions {
 public:
  explicit Expressions(int ranks) : ranks_(ranks), words_((ranks + 63) / 64) {}

  // What rank `rank` gave in call `call`.
  std::int32_t leaf(int call, int rank);
  // left op right, or what is wrong with it.
  enum class Fault : std::int32_t { undefined = -1, mixed_calls = -2, twice = -3, order = -4 };
  std::int32_t combine(std::int32_t left, std::int32_t right, bool is_commutative);

  // What reproducible reductions of the first `count` ranks are to be; algorithms/building/order.h states it
  // once more. A scan's: from the left; others': neighbours in pairs as far as a power of two asks for it,
  // then a perfect binary tree.
  std::int32_t in_one_order(int call, int count, bool is_scan);

  int call_of(std::int32_t value) const { return nodes_[value].call; }
  bool is_leaf_of(std::int32_t value, int rank) const {
    return value >= 0 && nodes_[value].is_leaf && nodes_[value].first == rank;
  }
  // Does it hold the contributions of the first `count` ranks, and no others? Each is in it once by
  // construction.
  bool is_run(std::int32_t value, int count) const {
    return value >= 0 && nodes_[value].contributions == count && nodes_[value].last == count - 1;
  }
  // "input of rank 3", "ranks 0, 1, 5", "nothing".
  std::string describe(std::int32_t value) const;
  static const char* describe(Fault fault);

 private:
  struct Node {
    int call;
    int contributions;
    int first, last;  // lowest and highest rank in it
    bool is_leaf;
    std::size_t members;  // bit set, words_ words from here in members_
  };
  bool overlap(const Node& a, const Node& b) const;

  int ranks_;
  std::size_t words_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> members_;
  std::vector<std::vector<std::int32_t>> leaves_;  // call, rank -> value
  std::unordered_map<std::uint64_t, std::int32_t> combined_;
};

}  // namespace unisono::proof
