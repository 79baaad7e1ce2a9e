// SPDX-License-Identifier: BSD-3-Clause
// The switches between the job's machines, as option 'topology' describes them (S6).
#pragma once

#include <memory>
#include <vector>

#include "patterns/topology.h"

namespace unisono::runtime {

class World;

struct FoundSwitches {
  std::shared_ptr<const patterns::SwitchTree> tree;  // null: none was asked for
  std::vector<int> switch_of;                        // by rank; empty where the tree cannot be used
};
// Collective over the world.
FoundSwitches find_switches(const World& world);

}  // namespace unisono::runtime
