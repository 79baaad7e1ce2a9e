// SPDX-License-Identifier: BSD-3-Clause
// What no schedule of the ranks describes: agents beside them make the call (docs/inside/agents.md). It
// stands apart from registry(), since there is nothing to build, draw, predict or prove.
#pragma once

#include "algorithms/catalogue/descriptor.h"

namespace unisono::algorithms {

inline constexpr std::string_view agents_name = "agents";

// Stands for all that agents do for the operation; null where they serve no such calls.
const Descriptor* by_agents(Operation operation);
// As find, but knows agents too.
const Descriptor* find_with_agents(Operation operation, std::string_view name);

}  // namespace unisono::algorithms
