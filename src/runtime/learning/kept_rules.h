// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned is kept for the next one, as rules in the user's cache (A10). What earlier jobs have
// learned, or a table's measurements, is where learning begins.
#pragma once

#include <string>
#include <vector>

#include "runtime/world/world.h"

namespace unisono::runtime {

// On rank 0, of all ranks' texts; and what it costs kept rules that the job went by them.
void keep_learned(const World& world, const std::vector<std::string>& texts);

}  // namespace unisono::runtime
