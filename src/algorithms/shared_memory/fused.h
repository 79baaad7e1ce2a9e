// SPDX-License-Identifier: BSD-3-Clause
// A node's small messages, each operation in one step. `problem` is one node's. A2, table 2.2.
#pragma once

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// The first four know parameter `domains` (along_domains.h).
schedule::Program fused_barrier(const schedule::Problem& problem, const Parameters&);
// What a barrier of nodes needs of each before its leader meets the others, and after it: along domains a
// half.
schedule::Program fused_arrival(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_release(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_bcast(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_reduce(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_allreduce(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_gather(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_scatter(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_allgather(const schedule::Problem& problem, const Parameters&);
schedule::Program fused_alltoall(const schedule::Problem& problem, const Parameters&);

// Blocks of uneven length through the lines of the fused operations, those that are short enough; `build` is
// for the others. A block has its lines in one place, or in alltoalls in one for each rank.
Descriptor fused_blocks(Operation operation, std::string sentence, Descriptor::Build build);

}  // namespace unisono::algorithms
