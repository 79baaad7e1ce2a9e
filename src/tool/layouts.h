// SPDX-License-Identifier: BSD-3-Clause
// The ranks, nodes and switches that a question is about: --ranks, --layout, --topology.
#pragma once

#include <memory>
#include <string>

#include "patterns/layout.h"
#include "patterns/neighborhood.h"
#include "tool/question.h"

namespace unisono::tool {

inline constexpr int most_ranks = 1024;
// Where no program is drawn or proved.
inline constexpr int most_described_ranks = 1 << 20;

// The description that --topology names: a synthetic one, or a file.
patterns::Topology topology_from(const std::string& text);
// With a topology alone each machine has one rank; its machines are the layout's nodes in order. Without
// anything there are `standard_ranks` on one node.
std::shared_ptr<const patterns::Layout> chosen_layout(const Arguments& arguments, int standard_ranks,
                                                      int most = most_ranks);

inline constexpr const char* standard_graph = "ring";
// --graph, of operations of neighbours: whom each rank sends to. Null for all others, which must not have it.
std::shared_ptr<const patterns::Neighborhood> chosen_graph(const Arguments& arguments, Operation operation,
                                                           int ranks);

}  // namespace unisono::tool
