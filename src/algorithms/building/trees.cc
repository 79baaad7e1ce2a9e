// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/trees.h"

#include <algorithm>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Tree;
using patterns::TreeNode;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

const std::vector<TreeFamily>& tree_families() {
  constexpr std::int64_t pipelined = 64 << 10;
  const auto without_parameters = [](Tree (*make)(int, int)) {
    return [make](int size, int root, const Parameters&) { return make(size, root); };
  };
  static const std::vector<TreeFamily> families = {
      {TreeShape::flat,
       "flat",
       "between the root and every other rank directly",
       "A5, figure 3.1 (a)",
       without_parameters(Tree::flat),
       0,
       {},
       true},
      {TreeShape::chain,
       "chain",
       "along a chain of all ranks",
       "A5, figure 3.1 (d)",
       without_parameters(Tree::chain),
       pipelined,
       {},
       false},
      {TreeShape::binary,
       "binary",
       "along a binary tree",
       "A5, figure 3.1 (b)",
       without_parameters(Tree::binary),
       pipelined,
       {},
       false},
      {TreeShape::binomial,
       "binomial",
       "along a binomial tree",
       "A5, figure 3.1 (c)",
       without_parameters(Tree::binomial),
       0,
       {},
       true},
      {TreeShape::k_nomial,
       "k_nomial",
       "along a tree that cuts every group into `degree` parts",
       "A5, section 3.2; N2",
       [](int size, int root, const Parameters& parameters) {
         return Tree::k_nomial(size, root, static_cast<int>(parameters.get("degree")));
       },
       0,
       {degree_parameter()},
       true},
  };
  return families;
}

Program bcast_along(const Tree& tree, const Problem& problem, const Parameters& parameters, const Ref& data) {
  Stage stage = message_stage(parameters, 1, [node = tree.at(problem.rank), data](int, Writer& writer) {
    if (node.parent >= 0) writer.recv(data, node.parent);
    for (const TreeNode::Child& child : node.children) writer.send(data, child.rank);
  });
  stage.extent = data.last - data.first;
  stage.extent_parts = data.parts;
  return one_stage(std::move(stage));
}

namespace {

// All blocks in the order of a tree's positions, which go on from the last rank to the first where the tree
// is turned.
class TurnedBlocks {
 public:
  TurnedBlocks(const Tree& tree, const schedule::Blocks& all)
      : all_(all), size_(tree.size()), turn_(tree.turn()) {}

  // Counted from rank 0's block, and on behind the last rank's.
  std::int64_t start(int position) const {
    const int rank = position + turn_;
    return rank < size_ ? all_.first(rank) : total() + all_.first(rank - size_);
  }
  std::int64_t total() const { return all_.last(size_ - 1); }

 private:
  schedule::Blocks all_;
  int size_, turn_;
};

}  // namespace

Program scatter_along(const Tree& tree, const Problem& problem) {
  const TreeNode node = tree.at(problem.rank);
  const bool is_root = node.parent < 0;
  const bool is_leaf = node.children.empty();
  const Place place = is_root ? Place::input : is_leaf ? Place::output : Place::scratch;
  const TurnedBlocks turned(tree, problem.blocks);
  // The root has them in the order of the ranks, others their subtree's in the order of the positions.
  const auto run = [=, origin = turned.start(node.first)](int first, int last) {
    const std::int64_t turned_back = turned.start(first) < turned.total() ? 0 : turned.total();
    const std::int64_t begin = is_root ? turned_back : origin;
    return blocks(place, turned.start(first) - begin, turned.start(last) - begin);
  };
  const auto messages = [=](int first, int last) {
    std::vector<Ref> all;
    for (const Tree::Run& part : tree.ascending_runs(first, last)) all.push_back(run(part.first, part.last));
    return all;
  };
  const int own = tree.position_of(problem.rank);
  auto write = [=](int, Writer& writer) {
    if (!is_root) {
      for (const Ref& message : messages(node.first, node.last)) writer.recv(message, node.parent);
    }
    for (const TreeNode::Child& child : node.children) {
      for (const Ref& message : messages(child.first, child.last)) writer.send(message, child.rank);
    }
    writer.copy(blocks(Place::output, 0, turned.start(own + 1) - turned.start(own)), run(own, own + 1));
  };
  const bool is_between = !is_root && !is_leaf;
  return one_stage(message_stage({}, 1, write),
                   is_between ? turned.start(node.last) - turned.start(node.first) : 0);
}

}  // namespace unisono::algorithms
