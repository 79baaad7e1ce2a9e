// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long vectors: the parts are scattered along a binomial tree and gathered everywhere. A5,
// section 3.2.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/catalogue/parameters.h"
#include "patterns/tree.h"

namespace unisono::algorithms {

using patterns::Tree;
using patterns::TreeNode;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

Stage scatter(const Tree& tree, const Problem& problem) {
  return message_stage({}, 1, [node = tree.at(problem.rank), size = problem.size](int, Writer& writer) {
    if (node.parent >= 0) writer.recv(parts(Place::output, node.first, node.last, size), node.parent);
    for (const TreeNode::Child& child : node.children) {
      writer.send(parts(Place::output, child.first, child.last, size), child.rank);
    }
  });
}

// After the scatter a rank has its whole subtree's parts.
HeldBy subtree_of(const Tree& tree) {
  return [tree](int rank) {
    const TreeNode node = tree.at(rank);
    return std::pair{node.first, node.last};
  };
}

Program scatter_ring(const Problem& problem, const Parameters& parameters) {
  const Tree tree = Tree::binomial(problem.size, problem.root);
  Composition composition;
  composition.add(scatter(tree, problem));
  composition.add(ring_allgather(problem, parameters, vector_parts(problem.size), subtree_of(tree)));
  return composition.take();
}

Program scatter_doubling(const Problem& problem, const Parameters&) {
  const Tree tree = Tree::binomial(problem.size, problem.root);
  Composition composition;
  composition.add(scatter(tree, problem));
  composition.add(doubling_allgather(problem, vector_parts(problem.size), subtree_of(tree)));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "scatter_ring_allgather",
           .operation = Operation::bcast,
           .group = "ring",
           .sentence = "Parts are scattered along a binomial tree, then go around a ring.",
           .source = "A5, section 3.2",
           .legality = {},
           .parameters = {segment_parameter(), window_parameter()},
           .build = scatter_ring},
          {.name = "scatter_rd_allgather",
           .operation = Operation::bcast,
           .group = "exchange",
           .sentence = "Parts are scattered along a binomial tree, then gathered by recursive doubling.",
           .source = "A5, section 3.2",
           .legality = {.needs_power_of_two = true},
           .parameters = {},
           .build = scatter_doubling}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
