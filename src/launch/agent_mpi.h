// SPDX-License-Identifier: BSD-3-Clause
// The MPI library that a job's agents load.
#pragma once

#include "launch/rewrite.h"
#include "launch/words.h"

namespace unisono::launch {

// Files or names for the loader, the best first: the launcher's own MPI where it lies beside it, else that of
// the programs. None where neither is known.
Words agent_libraries(const Understood& understood);

}  // namespace unisono::launch
