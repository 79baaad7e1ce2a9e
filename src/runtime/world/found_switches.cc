// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/found_switches.h"

#include <string>
#include <utility>

#include "base/files.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

struct File {
  std::string lines;
  std::string problem;
};

File lines_of(const std::string& name) {
  ReadFile read = read_file(name, patterns::most_topology_bytes);
  if (read.text) return {*std::move(read.text), {}};
  return {{}, name + " " + read.problem + "; a topology without a file is written tree:4x8"};
}

patterns::ReadTopology read_topology(const World& world) {
  const std::string& name = world.options.topology;
  if (patterns::is_synthetic(name)) return patterns::synthetic_topology(name);
  // Other hosts may have another file under this name, or none.
  File file;
  if (world.rank == 0) file = lines_of(name);
  file.problem = world.as_rank_0_has_it(std::move(file.problem));
  file.lines = world.as_rank_0_has_it(std::move(file.lines));
  if (!file.problem.empty()) return {{}, std::move(file.problem)};
  return patterns::topology_from_lines(file.lines, name);
}

}  // namespace

FoundSwitches find_switches(const World& world) {
  if (world.options.topology.empty()) return {};
  patterns::ReadTopology read = read_topology(world);
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
