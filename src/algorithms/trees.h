// SPDX-License-Identifier: BSD-3-Clause
// Broadcast and scatter along a tree, and the trees by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/descriptor.h"
#include "patterns/tree.h"
#include "schedule/program.h"

namespace unisono::algorithms {

struct TreeFamily {
  std::string name;
  std::string phrase;  // "along a ..."
  std::string source;
  std::function<patterns::Tree(int size, int root, const Parameters&)> make;
  std::int64_t standard_segment;
  std::vector<ParameterSpec> parameters;  // beside segment and window
  bool keeps_order;                       // are subtrees runs of ranks, whatever the root?
};
const std::vector<TreeFamily>& tree_families();

// The whole vector (output) from parent to children.
schedule::Program bcast_along(const patterns::Tree& tree, const schedule::Problem& problem,
                              const Parameters& parameters);
// Each subtree's blocks from parent to children; needs a tree that keeps the order. Only ranks with both
// parent and children need scratch space.
schedule::Program scatter_along(const patterns::Tree& tree, const schedule::Problem& problem);

}  // namespace unisono::algorithms
