// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/trees.h"

#include "algorithms/compose.h"
#include "algorithms/parameters.h"

namespace unisono::algorithms {

using patterns::Tree;
using patterns::TreeNode;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

const std::vector<TreeFamily>& tree_families() {
  constexpr std::int64_t pipelined = 64 << 10;
  const auto without_parameters = [](Tree (*make)(int, int)) {
    return [make](int size, int root, const Parameters&) { return make(size, root); };
  };
  static const std::vector<TreeFamily> families = {
      {"flat",
       "between the root and every other rank directly",
       "A5, figure 3.1 (a)",
       without_parameters(Tree::flat),
       0,
       {},
       true},
      {"chain",
       "along a chain of all ranks",
       "A5, figure 3.1 (d)",
       without_parameters(Tree::chain),
       pipelined,
       {},
       false},
      {"binary",
       "along a binary tree",
       "A5, figure 3.1 (b)",
       without_parameters(Tree::binary),
       pipelined,
       {},
       false},
      {"binomial",
       "along a binomial tree",
       "A5, figure 3.1 (c)",
       without_parameters(Tree::binomial),
       0,
       {},
       true},
      {"k_nomial",
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

Program bcast_along(const Tree& tree, const Problem& problem, const Parameters& parameters) {
  return one_stage(message_stage(parameters, 1, [node = tree.at(problem.rank)](int, Writer& writer) {
    if (node.parent >= 0) writer.recv(whole(Place::output), node.parent);
    for (const TreeNode::Child& child : node.children) writer.send(whole(Place::output), child.rank);
  }));
}

Program scatter_along(const Tree& tree, const Problem& problem) {
  const TreeNode node = tree.at(problem.rank);
  const bool is_root = node.parent < 0;
  const bool is_leaf = node.children.empty();
  const schedule::Blocks& all = problem.blocks;
  const std::int64_t origin =
      is_root ? 0 : all.first(node.first);  // of the blocks that pass through this rank
  const Place place = is_root ? Place::input : is_leaf ? Place::output : Place::scratch;
  const auto run = [=](int first, int last) {
    return blocks(place, all.first(first) - origin, all.last(last - 1) - origin);
  };
  const Ref own = blocks(Place::output, 0, all.last(problem.rank) - all.first(problem.rank));
  auto write = [=, rank = problem.rank](int, Writer& writer) {
    if (!is_root) writer.recv(run(node.first, node.last), node.parent);
    for (const TreeNode::Child& child : node.children) writer.send(run(child.first, child.last), child.rank);
    writer.copy(own, run(rank, rank + 1));
  };
  const bool is_between = !is_root && !is_leaf;
  return one_stage(message_stage({}, 1, write), is_between ? all.last(node.last - 1) - origin : 0);
}

}  // namespace unisono::algorithms
