// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/tree.h"

#include <algorithm>

namespace unisono::patterns {

namespace {

// A run of positions and the one in it that holds the data.
struct Part {
  int first;
  int last;
  int holder;
};

// Cuts `part` into runs of the largest power of `degree` that is below its length (the last run may be
// shorter). The holder keeps its run; in every other run the first position becomes the holder.
std::vector<Part> cut(const Part& part, int degree) {
  std::int64_t step = 1;
  while (step * degree < part.last - part.first) step *= degree;
  std::vector<Part> cuts;
  for (std::int64_t first = part.first; first < part.last; first += step) {
    const int begin = static_cast<int>(first);
    const int end = static_cast<int>(std::min<std::int64_t>(first + step, part.last));
    const bool is_own = begin <= part.holder && part.holder < end;
    cuts.push_back({begin, end, is_own ? part.holder : begin});
  }
  return cuts;
}

bool contains(const Part& part, int position) {
  return part.first <= position && position < part.last;
}

}  // namespace

Tree Tree::flat(int size, int root) {
  return {Kind::flat, size, root, 0, 0};
}
Tree Tree::chain(int size, int root) {
  return {Kind::chain, size, root, root, 0};
}
Tree Tree::binary(int size, int root) {
  return {Kind::binary, size, root, root, 0};
}
Tree Tree::binomial(int size, int root) {
  return {Kind::k_nomial, size, root, 0, 2};
}
Tree Tree::k_nomial(int size, int root, int degree) {
  return {Kind::k_nomial, size, root, 0, degree};
}

TreeNode Tree::at(int rank) const {
  switch (kind_) {
    case Kind::flat:
      return flat_node(rank);
    case Kind::chain:
      return chain_node(position_of(rank));
    case Kind::binary:
      return binary_node(position_of(rank));
    case Kind::k_nomial:
      return k_nomial_node(rank);
  }
  return {};
}

TreeNode Tree::flat_node(int rank) const {
  if (rank != root_) return {.parent = root_, .children = {}, .first = rank, .last = rank + 1};
  TreeNode node{.parent = -1, .children = {}, .first = 0, .last = size_};
  for (int child = size_ - 1; child > root_; --child) node.children.push_back({child, child, child + 1});
  for (int child = 0; child < root_; ++child) node.children.push_back({child, child, child + 1});
  return node;
}

TreeNode Tree::chain_node(int position) const {
  TreeNode node{
      .parent = position == 0 ? -1 : rank_at(position - 1), .children = {}, .first = position, .last = size_};
  if (position + 1 < size_) node.children.push_back({rank_at(position + 1), position + 1, size_});
  return node;
}

// Positions in pre-order: a subtree's root, then its left and its right subtree.
TreeNode Tree::binary_node(int position) const {
  TreeNode node{.parent = -1, .children = {}, .first = 0, .last = size_};
  while (true) {
    const int middle = node.first + 1 + (node.last - node.first) / 2;
    if (position == node.first) {
      if (middle < node.last) node.children.push_back({rank_at(middle), middle, node.last});
      if (node.first + 1 < middle) {
        node.children.push_back({rank_at(node.first + 1), node.first + 1, middle});
      }
      return node;
    }
    node.parent = rank_at(node.first);
    if (position < middle) {
      node = {.parent = node.parent, .children = {}, .first = node.first + 1, .last = middle};
    } else {
      node = {.parent = node.parent, .children = {}, .first = middle, .last = node.last};
    }
  }
}

TreeNode Tree::k_nomial_node(int rank) const {
  TreeNode node;
  Part part{0, size_, root_};
  // Down to the run in which this rank is the holder ...
  while (part.holder != rank) {
    for (const Part& candidate : cut(part, degree_)) {
      if (!contains(candidate, rank)) continue;
      if (candidate.holder != part.holder) node.parent = part.holder;
      part = candidate;
      break;
    }
  }
  node.first = part.first;
  node.last = part.last;
  // ... and on, until the run is this rank alone: all other runs on the way are children's.
  while (part.last - part.first > 1) {
    const std::vector<Part> cuts = cut(part, degree_);
    const auto own = std::find_if(cuts.begin(), cuts.end(), [&](const Part& c) { return contains(c, rank); });
    for (auto after = cuts.end(); --after != own;) {
      node.children.push_back({after->holder, after->first, after->last});
    }
    for (auto before = cuts.begin(); before != own; ++before) {
      node.children.push_back({before->holder, before->first, before->last});
    }
    part = *own;
  }
  return node;
}

int Tree::depth() const {
  int depth = 0;
  std::vector<int> depth_of(static_cast<std::size_t>(size_), -1);
  for (int rank = 0; rank < size_; ++rank) {
    std::vector<int> way;
    int at_rank = rank;
    for (; at_rank != -1 && depth_of[at_rank] < 0; at_rank = at(at_rank).parent) way.push_back(at_rank);
    int reached = at_rank == -1 ? -1 : depth_of[at_rank];
    for (auto on_way = way.rbegin(); on_way != way.rend(); ++on_way) depth_of[*on_way] = ++reached;
    depth = std::max(depth, reached);
  }
  return depth;
}

std::vector<Tree::Run> Tree::ascending_runs(int first, int last) const {
  const int middle = std::clamp(size_ - turn_, first, last);
  std::vector<Run> runs;
  if (first < middle) runs.push_back({first, middle});
  if (middle < last) runs.push_back({middle, last});
  return runs;
}

}  // namespace unisono::patterns
