// SPDX-License-Identifier: BSD-3-Clause
// Where all nodes do the same at the same time, one of them can be run for all. Without that, a ring of 100
// 000 ranks takes 10 000 000 000 steps.
#pragma once

#include <memory>
#include <optional>

#include "model/virtual_time.h"

namespace unisono::model {

// More elements, of which all parts are equally long, and as many bytes in all: what a run for all nodes goes
// by.
CallSize with_equal_parts(CallSize size, int ranks);

// One node's ranks, each for all ranks of its number on their nodes. Every node must have equally many ranks,
// and what a rank does must depend on its number on its node alone. So in each round ranks of one number need
// as many steps, of equal kinds and lengths. Their peers have equal numbers, and all are on the own node or
// all are not. The steps touch in the same way what earlier stages and the rounds before have touched.
//
// All rounds of all ranks are looked at as long as these are few. Else it is a sample of nodes (first, last,
// the root's, some between) and of rounds. A test compares the times of both ways for all algorithms.
std::optional<Crew> one_node_for_all(const schedule::Problem& problem, const BuildProgram& build,
                                     const CallSize& size);

}  // namespace unisono::model
