// SPDX-License-Identifier: BSD-3-Clause
// Scatters along trees, whole or cut into segments, and gathers, which are scatters turned round. A5, figures
// 3.1 and 3.2.
#include <utility>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using schedule::Problem;
using schedule::Program;

namespace {

Descriptor along(const TreeFamily& family, Operation operation) {
  const bool is_gather = operation == Operation::gather;
  std::vector<ParameterSpec> parameters = family.parameters;
  parameters.insert(parameters.end(), {segment_parameter(), window_parameter(), blocking_parameter()});
  if (!is_gather && family.shape == TreeShape::flat) parameters.push_back(pace_parameter());
  return {.name = family.name,
          .operation = operation,
          .group = family.shape == TreeShape::flat ? "flat" : "tree",
          .sentence = (is_gather ? "Blocks are collected " : "Blocks are handed out ") + family.phrase + ".",
          .source = family.source,
          .legality = {},
          .parameters = std::move(parameters),
          .build = [&family, is_gather](const Problem& problem, const Parameters& parameters) {
            const Program scatter =
                scatter_along(family.make(problem.size, problem.root, parameters), problem, parameters);
            return is_gather ? reversed(scatter) : scatter;
          }};
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    all.push_back(along(family, Operation::gather));
    all.push_back(along(family, Operation::scatter));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
