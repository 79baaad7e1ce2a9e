// SPDX-License-Identifier: BSD-3-Clause
// The effect of a two-stage tree by renumbering the ranks, with messages alone. G3.
#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using schedule::Problem;
using schedule::Program;

namespace {

// Node after node from the root's on, each with its leader first: the tree's long edges lead to other nodes,
// the short ones stay inside.
std::vector<int> numbering(const patterns::Layout& layout, int root) {
  std::vector<int> order;
  for (int turn = 0; turn < layout.nodes(); ++turn) {
    const auto& ranks = layout.ranks_of[(layout.node_of[root] + turn) % layout.nodes()];
    order.insert(order.end(), ranks.begin(), ranks.end());
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), root),
              order.begin() + layout.local_size(root));
  return order;
}

Program renumbered(const Problem& problem, const Parameters& parameters) {
  const auto order = std::make_shared<const std::vector<int>>(numbering(*problem.layout, problem.root));
  Problem inner = problem;
  inner.root = 0;
  inner.rank = static_cast<int>(std::find(order->begin(), order->end(), problem.rank) - order->begin());
  Composition composition;
  composition.add(bcast_along(patterns::Tree::binomial(inner.size, 0), inner, parameters),
                  {.rank_of = [order](int position) { return (*order)[position]; }});
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "renumbered_binomial",
           .operation = Operation::bcast,
           .group = "tree",
           .sentence =
               "A binomial tree over the ranks in the order of their nodes: long edges first, between nodes.",
           .source = "G3",
           .legality = {.needs_several_nodes = true},
           .parameters = {segment_parameter(), window_parameter(), blocking_parameter()},
           .build = renumbered}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
