// SPDX-License-Identifier: BSD-3-Clause
// The switches between the job's machines, as option 'topology' describes them (S6).
#include "base/files.h"
#include "base/log.h"
#include "patterns/topology.h"
#include "runtime/job.h"

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

}  // namespace

patterns::ReadTopology Job::read_topology() {
  if (patterns::is_synthetic(options_.topology)) return patterns::synthetic_topology(options_.topology);
  // Other hosts may have another file under this name, or none.
  File file;
  if (world_rank_ == 0) file = lines_of(options_.topology);
  file.problem = as_rank_0_has_it(std::move(file.problem));
  file.lines = as_rank_0_has_it(std::move(file.lines));
  if (!file.problem.empty()) return {{}, std::move(file.problem)};
  return patterns::topology_from_lines(file.lines, options_.topology);
}

void Job::find_switches() {
  if (options_.topology.empty()) return;
  patterns::ReadTopology read = read_topology();
  patterns::SwitchTree switches;
  switches.why_unusable = std::move(read.problem);
  const auto layout = patterns::Layout::from_labels(node_labels_);
  if (read.topology) {
    std::vector<std::string> machines;
    for (const auto& ranks : layout.ranks_of) {
      machines.push_back(pool_->host_names()[static_cast<std::size_t>(ranks.front())]);
    }
    const patterns::Placement placement = patterns::place(*read.topology, machines);
    switches = std::move(read.topology->switches);
    switches.why_unusable = placement.problem;
    for (const int node : layout.node_of) {
      if (placement.problem.empty())
        switch_of_.push_back(placement.switch_of[static_cast<std::size_t>(node)]);
    }
  }
  if (!switches.why_unusable.empty()) {
    warnings_.push_back("option topology '" + options_.topology + "' is not used: " + switches.why_unusable);
    if (world_rank_ == 0) log::warning(warnings_.back());
  }
  switches_ = std::make_shared<const patterns::SwitchTree>(std::move(switches));
}

}  // namespace unisono::runtime
