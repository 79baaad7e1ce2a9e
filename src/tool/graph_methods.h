// SPDX-License-Identifier: BSD-3-Clause
// The ways to move blocks between neighbours that a graph is looked at with.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/traffic.h"
#include "tool/graph_input.h"
#include "tool/graph_time.h"

namespace unisono::tool {

// What a method does on a graph, and what its set-up takes.
struct Measured {
  explicit Measured(patterns::Traffic counted) : traffic(std::move(counted)) {}
  patterns::Traffic traffic;
  double setup_us = 0;     // of one node's core, with the messages that it takes
  double setup_bytes = 0;  // of a rank
  double hyperedges = -1;  // groups that a rank could choose from; negative: they were not counted
  bool are_all_counted = true;
  int request_rounds = 0;
  std::string problem;  // why less was done than asked for
};

struct GraphQuestion {
  const AskedGraph& graph;
  const patterns::Destinations& destinations;
  GraphCosts costs;
  bool has_one_block = true;  // all neighbours get the same
  bool counts_hyperedges = false;
  std::int64_t most_steps = 0;  // of looking for groups
  std::function<void(double)> progress;
};

struct GraphMethod {
  std::string name;  // as --method takes it: "friends(k=2,scope=all)"
  std::function<Measured(const GraphQuestion&)> measure;
};

// Reads a name with what stands in brackets. Throws UsageError where there is no such method, or where it
// does not fit the graph or the operation.
GraphMethod method_from(const std::string& text, const GraphQuestion& question);
// Those that are looked at where nobody names any.
std::vector<std::string> standard_methods(const GraphQuestion& question);

}  // namespace unisono::tool
