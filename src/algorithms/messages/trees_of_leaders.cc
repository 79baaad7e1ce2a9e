// SPDX-License-Identifier: BSD-3-Clause
// Two levels by messages alone: a tree of the nodes' leaders, and one inside each node. A5, figure 3.2, where
// messages serve the nodes too; A13, section 3.1.
#include <string>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/building/levels.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::TreeNode;
using schedule::Problem;
using schedule::Program;

namespace {

// Other nodes come first: their messages have the longer way. Subtrees are no runs of positions here.
TreeNode joined(const TreeFamily& family, const Problem& problem, const Parameters& parameters) {
  const Levels levels(problem);
  const auto& ranks = problem.layout->ranks_of[problem.layout->node_of[problem.rank]];
  const Problem& node = levels.node();
  const Problem& leaders = levels.leaders();
  TreeNode all;
  if (levels.is_leader()) {
    all = family.make(leaders.size, leaders.root, parameters).at(leaders.rank);
    if (all.parent >= 0) all.parent = levels.leader_of(all.parent);
    for (TreeNode::Child& child : all.children) child.rank = levels.leader_of(child.rank);
  }
  const TreeNode inside = family.make(node.size, node.root, parameters).at(node.rank);
  if (inside.parent >= 0) all.parent = ranks[inside.parent];
  for (TreeNode::Child child : inside.children) {
    child.rank = ranks[child.rank];
    all.children.push_back(child);
  }
  return all;
}

Descriptor along(const TreeFamily& family, Operation operation) {
  const bool is_reduce = operation == Operation::reduce;
  std::vector<ParameterSpec> parameters = family.parameters;
  parameters.insert(parameters.end(),
                    {segment_parameter(family.standard_segment), window_parameter(), blocking_parameter()});
  return {.name = "leaders_" + family.name,
          .operation = operation,
          .group = "tree",
          .sentence = (is_reduce ? "Operands are joined " : "The vector goes ") + family.phrase +
                      ", of the nodes' leaders and again inside each node, by messages alone.",
          .source = "A5, figure 3.2; A13, section 3.1",
          .legality = {.needs_commutative = is_reduce, .needs_several_nodes = true},
          .parameters = std::move(parameters),
          .build = [&family, is_reduce](const Problem& problem, const Parameters& chosen) {
            const Program bcast = bcast_along(joined(family, problem, chosen), chosen);
            if (!is_reduce) return bcast;
            return reversed_into_reduction(bcast, [rank = problem.rank](int peer) { return peer < rank; });
          }};
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    // The flat one of all ranks is as good; `renumbered_binomial` has fewer levels than this one of
    // binomials.
    if (family.shape != TreeShape::chain && family.shape != TreeShape::binary) continue;
    all.push_back(along(family, Operation::bcast));
    all.push_back(along(family, Operation::reduce));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
