// SPDX-License-Identifier: BSD-3-Clause
// Operations that are two others, one after the other: reduce and bcast, gather and bcast.
#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;

namespace {

Program built(Operation operation, std::string_view name, Problem problem, const Parameters& parameters) {
  problem.operation = operation;
  const Descriptor& descriptor = *find(operation, name);
  return descriptor.build(problem, with_standards(descriptor, parameters));
}

Program reduce_bcast(const Problem& problem, const Parameters& parameters) {
  Composition composition;
  composition.add(built(Operation::reduce, "k_nomial", problem, parameters));
  composition.add(built(Operation::bcast, "k_nomial", problem, parameters));
  return composition.take();
}

Program gather_bcast(const Problem& problem, const Parameters& parameters) {
  Composition composition;
  composition.add(built(Operation::gather, "binomial", problem, parameters));
  composition.add(built(Operation::bcast, "binomial", problem, parameters),
                  {.scale = problem.blocks.last(problem.size - 1)});
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "reduce_bcast",
           .operation = Operation::allreduce,
           .group = "tree",
           .sentence = "A reduction along a binomial or wider tree, then a broadcast down the same tree.",
           .source = "A5, figure 3.1 (c); N2",
           .legality = {},
           .parameters = {degree_parameter(2), segment_parameter(), window_parameter()},
           .build = reduce_bcast},
          {.name = "gather_bcast",
           .operation = Operation::allgather,
           .group = "tree",
           .sentence =
               "Blocks are gathered along a binomial tree, then all of them broadcast down the same tree.",
           .source = "A5, figure 3.1 (c); S1",
           .legality = {},
           .parameters = {segment_parameter(), window_parameter()},
           .build = gather_bcast}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
