// SPDX-License-Identifier: BSD-3-Clause
// A node's small messages, each operation in one step. `problem` is one node's. A2, table 2.2.
#pragma once

#include "schedule/program.h"

namespace unisono::algorithms {

schedule::Program fused_barrier();
schedule::Program fused_bcast(const schedule::Problem& problem);
schedule::Program fused_reduce(const schedule::Problem& problem);
schedule::Program fused_allreduce();
schedule::Program fused_allgather();

}  // namespace unisono::algorithms
