// SPDX-License-Identifier: BSD-3-Clause
// Reductions along trees: broadcasts turned round. A5, figure 3.1.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Folding;
using patterns::Tree;
using schedule::Place;
using schedule::Problem;
using schedule::Program;

namespace {

Program reduce_along(const Tree& tree, const Problem& problem, const Parameters& parameters) {
  return reversed_into_reduction(bcast_along(tree, problem, parameters), [=, rank = problem.rank](int peer) {
    return tree.position_of(peer) < tree.position_of(rank);
  });
}

// On a power of two ranks a binomial tree joins in the one order, whatever the root.
Program reduce_in_one_order(const Problem& problem, const Parameters& parameters) {
  const Folding folding(problem.size, problem.root);
  const Folding::Member me = folding.at(problem.rank);
  Problem among_base = problem;
  among_base.size = folding.base();
  among_base.rank = me.index;
  const Tree tree = Tree::binomial(folding.base(), folding.at(problem.root).index);
  const Program program = reversed_into_reduction(
      bcast_along(tree, among_base, parameters),
      [=](int peer) { return tree.position_of(peer) < tree.position_of(me.index); },
      me.role == Folding::Role::proxy ? Place::output : Place::input);
  Composition composition;
  composition.reserve(1);
  composition.add(fold(problem, parameters, folding));
  composition.add(me.role == Folding::Role::extra ? idle(program) : program,
                  {.rank_of = [folding](int index) { return folding.rank_of(index); }});
  return composition.take();
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    Descriptor descriptor{.name = family.name,
                          .operation = Operation::reduce,
                          .group = family.shape == TreeShape::flat ? "flat" : "tree",
                          .sentence = "Operands are joined " + family.phrase + ".",
                          .source = family.source,
                          .legality = {.needs_commutative = !family.keeps_order,
                                       .keeps_one_order = family.shape == TreeShape::binomial},
                          .parameters = family.parameters,
                          .build = [&family](const Problem& problem, const Parameters& parameters) {
                            if (problem.is_reproducible && family.shape == TreeShape::binomial)
                              return reduce_in_one_order(problem, parameters);
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
