// SPDX-License-Identifier: BSD-3-Clause
// The switches between the job's machines, as option 'topology' describes them (S6).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "patterns/topology.h"

namespace unisono::runtime {

class World;

struct FoundSwitches {
  std::shared_ptr<const patterns::SwitchTree> tree;  // null: none was asked for
  std::vector<int> switch_of;                        // by rank; empty where the tree cannot be used
};
// What rank 0 reads for all: other hosts may have another file under the name, or none.
struct TopologyFile {
  std::string lines;
  std::string problem;
};
TopologyFile read_topology_file(const Options& options);
// `file` as rank 0 has read it.
FoundSwitches find_switches(const World& world, const TopologyFile& file);

}  // namespace unisono::runtime
