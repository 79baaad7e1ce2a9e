// SPDX-License-Identifier: BSD-3-Clause
// Reductions along trees: broadcasts turned round. A5, figure 3.1.
#include "algorithms/compose.h"
#include "algorithms/parameters.h"
#include "algorithms/trees.h"

namespace unisono::algorithms {

using patterns::Tree;
using schedule::Problem;
using schedule::Program;

namespace {

Program reduce_along(const Tree& tree, const Problem& problem, const Parameters& parameters) {
  return reversed_into_reduction(bcast_along(tree, problem, parameters), [=, rank = problem.rank](int peer) {
    return tree.position_of(peer) < tree.position_of(rank);
  });
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    Descriptor descriptor{.name = family.name,
                          .operation = Operation::reduce,
                          .group = family.name == "flat" ? "flat" : "tree",
                          .sentence = "Operands are joined " + family.phrase + ".",
                          .source = family.source,
                          .legality = {.needs_commutative = !family.keeps_order},
                          .parameters = family.parameters,
                          .build = [&family](const Problem& problem, const Parameters& parameters) {
                            return reduce_along(family.make(problem.size, problem.root, parameters), problem,
                                                parameters);
                          }};
    descriptor.parameters.push_back(segment_parameter(family.standard_segment));
    descriptor.parameters.push_back(window_parameter());
    descriptor.parameters.push_back(blocking_parameter());
    all.push_back(std::move(descriptor));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
