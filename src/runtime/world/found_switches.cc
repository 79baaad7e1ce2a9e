// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/found_switches.h"

#include <string>
#include <utility>

#include "base/files.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

patterns::ReadTopology read_topology(const std::string& name, const TopologyFile& file) {
  if (patterns::is_synthetic(name)) return patterns::synthetic_topology(name);
  if (!file.problem.empty()) return {{}, file.problem};
  return patterns::topology_from_lines(file.lines, name);
}

}  // namespace

TopologyFile read_topology_file(const Options& options) {
  const std::string& name = options.topology;
  if (name.empty() || patterns::is_synthetic(name)) return {};
  ReadFile read = read_file(name, patterns::most_topology_bytes);
  if (read.text) return {*std::move(read.text), {}};
  return {{}, name + " " + read.problem + "; a topology without a file is written tree:4x8"};
}

FoundSwitches find_switches(const World& world, const TopologyFile& file) {
  if (world.options.topology.empty()) return {};
  patterns::ReadTopology read = read_topology(world.options.topology, file);
  patterns::SwitchTree switches;
  switches.why_unusable = std::move(read.problem);
  FoundSwitches found;
  const patterns::Layout layout = world.layout();
  if (read.topology) {
    std::vector<std::string> machines;
    for (const auto& ranks : layout.ranks_of) {
      machines.push_back(world.pool->host_names()[static_cast<std::size_t>(ranks.front())]);
    }
    const patterns::Placement placement = patterns::place(*read.topology, machines);
    switches = std::move(read.topology->switches);
    switches.why_unusable = placement.problem;
    for (const int node : layout.node_of) {
      if (placement.problem.empty())
        found.switch_of.push_back(placement.switch_of[static_cast<std::size_t>(node)]);
    }
  }
  if (!switches.why_unusable.empty())
    world.notices().warn("option topology '" + world.options.topology +
                         "' is not used: " + switches.why_unusable);
  found.tree = std::make_shared<const patterns::SwitchTree>(std::move(switches));
  return found;
}

}  // namespace unisono::runtime
