// SPDX-License-Identifier: BSD-3-Clause
// Words for steps and references, for people: the checker's messages, the printer's labels.
#pragma once

#include <string>
#include <string_view>

#include "schedule/program.h"

namespace unisono::schedule {

std::string_view name(StepKind kind);
std::string_view name(Place place);

// "output", "output block 3", "scratch part 2/8", "input blocks 0..4", "slot of 2, lane 1 (output)".
std::string describe(const Ref& ref);
// "recv output part 2/8 from 3", "reduce output = scratch op input", "await tick 1 of local rank 2".
std::string describe(const Step& step);
// Of neighbours: blocks by their places in the rank's buffers and in slots, and for which lengths the step is
// taken. `table`: null elsewhere.
std::string describe(const Step& step, const BlockTable* table);

}  // namespace unisono::schedule
