// SPDX-License-Identifier: BSD-3-Clause
// The machine that a question is about (docs/guide/models.md).
#pragma once

#include <string>

#include "model/machine.h"

namespace unisono::tool {

// A built-in machine by its name, or one from a file. Throws UsageError where it is neither.
model::Machine chosen_machine(const std::string& text);
// What a job does as it was measured, where that is in the machine's file; empty: nothing.
std::string measured_choices(const std::string& text);

}  // namespace unisono::tool
