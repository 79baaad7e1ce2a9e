// SPDX-License-Identifier: BSD-3-Clause
// Broadcast and scatter along a tree, and the trees by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/tree.h"
#include "schedule/program.h"

namespace unisono::algorithms {

enum class TreeShape : std::uint8_t { flat, chain, binary, binomial, k_nomial };

struct TreeFamily {
  TreeShape shape;
  std::string name;
  std::string phrase;  // "along a ..."
  std::string source;
  std::function<patterns::Tree(int size, int root, const Parameters&)> make;
  std::int64_t standard_segment;
  std::vector<ParameterSpec> parameters;  // beside segment and window
  bool keeps_order;                       // are subtrees runs of ranks, whatever the root?
};
const std::vector<TreeFamily>& tree_families();

// The whole vector, or some other part of output, from parent to children.
schedule::Program bcast_along(const patterns::TreeNode& node, const Parameters& parameters,
                              const schedule::Ref& data = schedule::whole(schedule::Place::output));
schedule::Program bcast_along(const patterns::Tree& tree, const schedule::Problem& problem,
                              const Parameters& parameters,
                              const schedule::Ref& data = schedule::whole(schedule::Place::output));
// Each subtree's blocks from parent to children. Only ranks with both parent and children need scratch space.
// Where a subtree's ranks go on from the last one to the first, its blocks come in two messages. With
// segments each block is a message of its own, cut into pieces, so that pieces are passed on as they come.
schedule::Program scatter_along(const patterns::Tree& tree, const schedule::Problem& problem,
                                const Parameters& parameters = {});

}  // namespace unisono::algorithms
