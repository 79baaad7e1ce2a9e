// SPDX-License-Identifier: BSD-3-Clause
// Where all nodes do the same at the same time, one of them can be run for all: a ring of 100 000 ranks takes
// 10 000 000 000 steps otherwise.
#pragma once

#include <memory>
#include <optional>

#include "model/virtual_time.h"

namespace unisono::model {

// More elements, of which all parts are equally long, and as many bytes in all: what a run for all nodes goes
// by.
CallSize with_equal_parts(CallSize size, int ranks);

// One node's ranks, each for all ranks of its number on their nodes: where every node has equally many ranks
// and what a rank does depends on its number on its node alone: in each round as many steps, of equal kinds
// and lengths, with peers of equal numbers that are on the own node or are not, and touching what earlier
// stages and the rounds before have touched in the same way. Looked at are all rounds of all ranks as long as
// these are few, else a sample of nodes (first, last, the root's, some between) and of rounds; a test
// compares the times of both ways for all algorithms.
std::optional<Crew> one_node_for_all(const schedule::Problem& problem, const BuildProgram& build,
                                     const CallSize& size);

}  // namespace unisono::model
