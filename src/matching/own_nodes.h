// SPDX-License-Identifier: BSD-3-Clause
// M8: nodes that are known by their numbers. They lie one beside the other, and free ones are a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono::matching {

// `Node` has a member `next_free`.
template <class Node>
class OwnNodes {
 public:
  Node& operator[](std::uint32_t number) { return nodes_[number]; }
  const Node& operator[](std::uint32_t number) const { return nodes_[number]; }

  std::uint32_t make() {
    ++in_use_;
    if (free_ != none) {
      const std::uint32_t number = free_;
      free_ = nodes_[number].next_free;
      return number;
    }
    if (nodes_.size() == nodes_.capacity()) nodes_.reserve(nodes_.size() + nodes_.size() / 4 + 32);
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void free(std::uint32_t number) {
    nodes_[number].next_free = free_;
    free_ = number;
    --in_use_;
  }
  // All nodes go, and memory for more than `expected`.
  void forget_all(std::uint32_t expected) {
    nodes_ = std::vector<Node>();
    nodes_.reserve(expected);
    free_ = none;
    in_use_ = 0;
  }

  // Numbers lie below it, of free nodes too.
  std::uint32_t end() const { return static_cast<std::uint32_t>(nodes_.size()); }
  // Is there far more memory than the nodes in use need?
  bool is_far_larger_than(std::uint32_t needed) const { return nodes_.capacity() / 8 > needed + 32; }
  std::size_t bytes() const { return nodes_.capacity() * sizeof(Node); }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  std::uint32_t in_use_ = 0;
};

}  // namespace unisono::matching
