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
  return bcast_along(tree.at(problem.rank), parameters, data);
}

Program bcast_along(const TreeNode& node, const Parameters& parameters, const Ref& data) {
  Stage stage = message_stage(parameters, 1, [node, data](int, Writer& writer) {
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

Program scatter_along(const Tree& tree, const Problem& problem, const Parameters& parameters) {
  const TreeNode node = tree.at(problem.rank);
  const bool is_root = node.parent < 0;
  const bool is_leaf = node.children.empty();
  const Place place = is_root ? Place::input : is_leaf ? Place::output : Place::scratch;
  const TurnedBlocks turned(tree, problem.blocks);
  const std::int64_t origin = turned.start(node.first), end = turned.start(node.last);
  // The root has them in the order of the ranks, others their subtree's in the order of the positions.
  const auto unit = [=, turned_back = turned.total()](std::int64_t at) {
    if (!is_root) return at - origin;
    return at < turned_back ? at : at - turned_back;
  };
  const auto run = [=](const Tree::Run& of) {
    const std::int64_t first = turned.start(of.first);
    return blocks(place, unit(first), unit(first) + turned.start(of.last) - first);
  };
  const int own = tree.position_of(problem.rank);
  const Tree::Run kept{own, own + 1};
  auto write_whole = [=](int, Writer& writer) {
    if (!is_root) {
      for (const Tree::Run& part : tree.ascending_runs(node.first, node.last))
        writer.recv(run(part), node.parent);
    }
    for (const TreeNode::Child& child : node.children) {
      for (const Tree::Run& part : tree.ascending_runs(child.first, child.last))
        writer.send(run(part), child.rank);
    }
    writer.copy(blocks(Place::output, 0, turned.start(own + 1) - turned.start(own)), run(kept));
  };
  // A block in each round, the same on all ranks; what has the longest way goes first.
  auto write_cut = [=](int round, Writer& writer) {
    const std::int64_t at = turned.start(tree.size()) - 1 - round;
    if (at < origin || at >= end) return;
    const Ref data = block(place, unit(at));
    if (!is_root) writer.recv(data, node.parent);
    for (const TreeNode::Child& child : node.children) {
      if (turned.start(child.first) <= at && at < turned.start(child.last)) writer.send(data, child.rank);
    }
    if (const std::int64_t first = turned.start(own); first <= at && at < turned.start(own + 1))
      writer.copy(block(Place::output, at - first), data);
  };
  const bool is_cut = parameters.get_or("segment", 0) != 0;
  const std::int64_t scratch = is_root || is_leaf ? 0 : end - origin;
  const int all_blocks = static_cast<int>(turned.start(tree.size()) - turned.start(0));
  if (is_cut) return one_stage(message_stage(parameters, all_blocks, write_cut), scratch);
  return one_stage(message_stage(parameters, 1, write_whole), scratch);
}

}  // namespace unisono::algorithms
