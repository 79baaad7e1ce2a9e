// SPDX-License-Identifier: BSD-3-Clause
// The graph of neighbours, and the nodes, that a question is about: --graph or --edges, --ranks, --ppn or
// --layout.
#pragma once

#include <string>
#include <vector>

#include "patterns/layout.h"
#include "patterns/neighborhood.h"
#include "tool/question.h"

namespace unisono::tool {

struct AskedGraph {
  patterns::Neighborhood neighborhood;
  patterns::Layout layout;
  std::string text;
  std::vector<int> extents;  // of the torus that the ranks are on; empty: of none
};
AskedGraph asked_graph(const Arguments& arguments);

// "unisono edges 1 RANKS EDGES", a newline, then for each edge two numbers of 4 bytes, the lower byte first:
// who sends, and who gets. Edges stand in the order of the lists of both. Throws UsageError for anything
// else.
patterns::Neighborhood read_edges(const std::string& path);

}  // namespace unisono::tool
