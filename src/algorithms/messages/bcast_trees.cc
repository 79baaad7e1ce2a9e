// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts along trees, whole or cut into segments. A5, figures 3.1 and 3.3.
#include "algorithms/building/compose.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using schedule::Problem;

namespace {

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const TreeFamily& family : tree_families()) {
    Descriptor descriptor{.name = family.name,
                          .operation = Operation::bcast,
                          .group = family.shape == TreeShape::flat ? "flat" : "tree",
                          .sentence = "The vector goes " + family.phrase + ".",
                          .source = family.source,
                          .legality = {},
                          .parameters = family.parameters,
                          .build = [&family](const Problem& problem, const Parameters& parameters) {
                            return bcast_along(family.make(problem.size, problem.root, parameters), problem,
                                               parameters);
                          }};
    descriptor.parameters.push_back(segment_parameter(family.standard_segment));
    descriptor.parameters.push_back(window_parameter());
    descriptor.parameters.push_back(blocking_parameter());
    if (family.shape == TreeShape::flat) descriptor.parameters.push_back(pace_parameter());
    all.push_back(std::move(descriptor));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
