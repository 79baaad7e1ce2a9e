// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of two-level algorithms: shared memory inside the nodes, any algorithm that uses messages alone
// between their leaders. G3; A5, figure 3.2.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/descriptor.h"
#include "algorithms/levels.h"

namespace unisono::algorithms {

// How an operation is done on two levels.
using TwoLevelBuild = std::function<void(Composition* composition, const Levels& levels,
                                         const Descriptor& inter, const Parameters& parameters)>;

// May the algorithm run between leaders?
bool is_for_leaders(const Descriptor& inter);
// "two_level_" + the name of `inter`, its legality on the nodes, its parameters and those of the channels.
Descriptor two_level(const Descriptor& inter, TwoLevelBuild build);

}  // namespace unisono::algorithms
