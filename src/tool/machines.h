// SPDX-License-Identifier: BSD-3-Clause
// The machine that a question is about (docs/guide/models.md).
#pragma once

#include <string>

#include "model/machine.h"
#include "tool/question.h"

namespace unisono::tool {

// A built-in machine by its name, or one from a file. Throws UsageError where it is neither.
model::Machine chosen_machine(const std::string& text);
// The same by options `machine`, `type` and `op`, whose vectors are joined as these say. Throws UsageError
// where the machine tells types or operators apart and does not know one of them.
model::Machine chosen_machine_for_work(const Arguments& arguments);
// What a job does as it was measured, where that is in the machine's file; empty: nothing.
std::string measured_choices(const std::string& text);

}  // namespace unisono::tool
