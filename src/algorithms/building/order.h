// SPDX-License-Identifier: BSD-3-Clause
// The one order in which reproducible reductions join their operands (B5): a tree by rank number alone, which
// knows neither nodes nor pieces. The ranks are folded onto a power of two (patterns::Folding: the first ones
// in neighbouring pairs), and the rest is a perfect binary tree of neighbours:
//
//     6 ranks: ((0 1) (2 3)) (4 5)        7 ranks: ((0 1) (2 3)) ((4 5) 6)
//
// It is what recursive doubling and halving do by themselves. A scan joins from the left instead, so that
// each rank's result is the one before it with one operand more: ((0 1) 2) 3.
#pragma once

#include <functional>

#include "schedule/program.h"

namespace unisono::algorithms {

// Partial results that join_in_order() keeps beside the result.
int temporaries_of_order(int ranks);

// The operands of all ranks, which this rank can read, joined into `result` in that order. The last step
// alone writes to `result`, which may be an operand. `temporary(i)` for i below temporaries_of_order().
void join_in_order(schedule::Writer& writer, int ranks, const schedule::Ref& result,
                   const std::function<schedule::Ref(int rank)>& operand_of,
                   const std::function<schedule::Ref(int index)>& temporary);

}  // namespace unisono::algorithms
