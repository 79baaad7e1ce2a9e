// SPDX-License-Identifier: BSD-3-Clause
// Neighbours of one node through slots, as a schedule.
#pragma once

#include <cstdint>

#include "schedule/program.h"

namespace unisono::algorithms {

// Blocks of up to `share_up_to` bytes go through `buffers` slots of their sender in turn, longer ones as
// messages.
schedule::Program shared_neighbors(const schedule::Problem& problem, std::int64_t share_up_to, int buffers);

}  // namespace unisono::algorithms
