// SPDX-License-Identifier: BSD-3-Clause
// A node's gathers and scatters of uneven blocks, which keep their numbers: `problem` is the node's, and its
// ranks' blocks are those from `first` on. Always one stage.
#pragma once

#include <cstdint>

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

schedule::Program shared_gather_blocks(const schedule::Problem& problem, const Parameters& parameters,
                                       std::int64_t first);
schedule::Program shared_scatter_blocks(const schedule::Problem& problem, const Parameters& parameters,
                                        std::int64_t first);

}  // namespace unisono::algorithms
