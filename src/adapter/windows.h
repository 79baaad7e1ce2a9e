// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication, as far as collectives change what programs see of it.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

// The wrapper of MPI_Win_test. Behind a barrier a program expects it to find what other ranks completed
// before the barrier. The host's own barrier has read their messages by then; a barrier in the node's shared
// memory has not. So the host makes some progress first.
int win_test(MPI_Win window, int* flag);

}  // namespace unisono::adapter
