// SPDX-License-Identifier: BSD-3-Clause
// Scatters along trees, and gathers, which are scatters turned round. A5, figure 3.1.
#include "algorithms/building/compose.h"
#include "algorithms/building/trees.h"

namespace unisono::algorithms {

using schedule::Problem;
using schedule::Program;

namespace {

Descriptor along(const TreeFamily& family, Operation operation) {
  const bool is_gather = operation == Operation::gather;
  return {.name = family.name,
          .operation = operation,
          .group = family.shape == TreeShape::flat ? "flat" : "tree",
          .sentence = (is_gather ? "Blocks are collected " : "Blocks are handed out ") + family.phrase + ".",
          .source = family.source,
          .legality = {},
          .parameters = family.parameters,
          .build = [&family, is_gather](const Problem& problem, const Parameters& parameters) {
            const Program scatter =
                scatter_along(family.make(problem.size, problem.root, parameters), problem);
            return is_gather ? reversed(scatter) : scatter;
          }};
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    if (family.shape == TreeShape::binary) continue;
    all.push_back(along(family, Operation::gather));
    all.push_back(along(family, Operation::scatter));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
