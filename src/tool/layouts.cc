// SPDX-License-Identifier: BSD-3-Clause
#include "tool/layouts.h"

#include <utility>

#include "base/files.h"
#include "patterns/graphs.h"
#include "patterns/layout_text.h"

namespace unisono::tool {
namespace {

using patterns::Layout;
using patterns::Topology;

Layout layout_from(const std::string& text) {
  const auto layout = Layout::parse(text);
  if (layout) return *layout;
  throw UsageError("--layout " + text + " " + patterns::why_no_layout(text));
}

void hang_on(const Topology& topology, const std::string& text, Layout* layout) {
  const auto machines = static_cast<int>(topology.machines.size());
  if (machines != layout->nodes()) {
    throw UsageError("--topology " + text + " has " + std::to_string(machines) +
                     " machines, the layout has " + std::to_string(layout->nodes()) + " nodes");
  }
  layout->switches = std::make_shared<patterns::SwitchTree>(topology.switches);
  for (const patterns::Machine& machine : topology.machines) layout->switch_of.push_back(machine.switch_of);
}

}  // namespace

Topology topology_from(const std::string& text) {
  patterns::ReadTopology read;
  ReadFile file;
  if (!patterns::is_synthetic(text)) file = read_file(text, patterns::most_topology_bytes);
  if (file.text) {
    read = patterns::topology_from_lines(*file.text, text);
  } else {
    read = patterns::synthetic_topology(text);
    if (!patterns::is_synthetic(text))
      read.problem += ", or the name of a file that can be read: this " + file.problem;
  }
  if (!read.topology) throw UsageError("--topology: " + read.problem);
  return *std::move(read.topology);
}

std::shared_ptr<const Layout> chosen_layout(const Arguments& arguments, int standard_ranks, int most) {
  const auto ranks = static_cast<int>(arguments.number("ranks", 1, most, 0));
  Layout layout;
  if (arguments.has("layout")) {
    layout = layout_from(arguments.text("layout"));
  } else if (arguments.has("topology")) {
    const std::size_t machines = topology_from(arguments.text("topology")).machines.size();
    layout = layout_from(std::to_string(machines) + "x1");
  } else {
    layout = Layout::one_node(ranks > 0 ? ranks : standard_ranks);
  }
  const std::string name = arguments.has("layout") ? "--layout " + arguments.text("layout")
                                                   : "--topology " + arguments.text("topology", "");
  if (layout.size() > most) {
    throw UsageError(name + " holds " + std::to_string(layout.size()) + " ranks; at most " +
                     std::to_string(most) + " are looked at");
  }
  if (ranks > 0 && ranks != layout.size()) {
    throw UsageError(name + " holds " + std::to_string(layout.size()) + " ranks, --ranks says " +
                     std::to_string(ranks));
  }
  if (arguments.has("topology")) {
    hang_on(topology_from(arguments.text("topology")), arguments.text("topology"), &layout);
  }
  return std::make_shared<Layout>(std::move(layout));
}

std::shared_ptr<const patterns::Neighborhood> chosen_graph(const Arguments& arguments, Operation operation,
                                                           int ranks) {
  if (!is_neighborhood(operation)) {
    if (arguments.has("graph"))
      throw UsageError("--graph goes with collectives of neighbours; " + std::string(name(operation)) +
                       " is none");
    return nullptr;
  }
  const std::string text = arguments.text("graph", standard_graph);
  auto graph = patterns::parse_graph(text, ranks);
  if (!graph) throw UsageError("--graph " + text + ": " + patterns::why_no_graph(text, ranks));
  return std::make_shared<const patterns::Neighborhood>(*std::move(graph));
}

}  // namespace unisono::tool
