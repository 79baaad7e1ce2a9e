// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "simgrid/buffers.h"

namespace unisono::simgrid {

// The MPI's own collective on MPI_COMM_WORLD; which algorithm, smpi/coll-selector says.
void call_native(const Call& call, Buffers* buffers);

}  // namespace unisono::simgrid
