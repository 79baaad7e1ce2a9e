// SPDX-License-Identifier: BSD-3-Clause
// Trees over the ranks 0 .. size-1, with any of them as root. A5, figure 3.1.
#pragma once

#include <cstdint>
#include <vector>

namespace unisono::patterns {

struct TreeNode {
  struct Child {
    int rank;   // of the child
    int first;  // the child's subtree: positions [first, last)
    int last;
  };
  int parent = -1;  // -1 at the root
  // In the order in which a broadcast sends. In reversed order each child's subtree touches the run of what
  // stands between it and this rank. So a reduction can join neighbours and keeps the order of its operands.
  std::vector<Child> children;
  int first = 0;  // the own subtree, this rank included: positions [first, last)
  int last = 1;
};

// Every subtree is a run of positions; position p is rank (p + turn()) % size.
class Tree {
 public:
  // The root sends to everyone.
  static Tree flat(int size, int root);
  // Each rank sends to the next; starts at the root and wraps.
  static Tree chain(int size, int root);
  // Two children, whose subtrees are equally deep.
  static Tree binary(int size, int root);
  // Halves: who holds the data passes it to one rank of the other half, then both go on in their halves. With
  // root 0 the classic binomial tree; with any other root equally deep, and without wrapping runs.
  static Tree binomial(int size, int root);
  // The same with `degree` parts instead of halves (degree >= 2).
  static Tree k_nomial(int size, int root, int degree);

  TreeNode at(int rank) const;
  // The longest way from the root, in messages.
  int depth() const;
  int size() const { return size_; }
  int root() const { return root_; }
  int turn() const { return turn_; }
  int rank_at(int position) const { return (position + turn_) % size_; }
  int position_of(int rank) const { return (rank - turn_ + size_) % size_; }
  // The positions [first, last), cut where rank 0 comes after the last rank: in each run ranks ascend.
  struct Run {
    int first, last;
  };
  std::vector<Run> ascending_runs(int first, int last) const;

 private:
  enum class Kind : std::uint8_t { flat, chain, binary, k_nomial };
  Tree(Kind kind, int size, int root, int turn, int degree)
      : kind_(kind), size_(size), root_(root), turn_(turn), degree_(degree) {}
  TreeNode flat_node(int rank) const;
  TreeNode chain_node(int position) const;
  TreeNode binary_node(int position) const;
  TreeNode k_nomial_node(int rank) const;

  Kind kind_;
  int size_;
  int root_;
  int turn_;
  int degree_;
};

}  // namespace unisono::patterns
