// SPDX-License-Identifier: BSD-3-Clause
// Communicators of our own beside the program's: with its processes, none of its attributes.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

// One like `of`, and with its topology where that is asked for; errors are told to the handler of `of`.
// Collective over `of`.
int make_private(MPI_Comm of, bool has_topology, MPI_Comm* made);

// `made` has the processes of `of` in their order: it becomes one with the topology of `of`, if there is one.
// Collective over `made`, which is freed where it is replaced.
int take_topology(MPI_Comm of, MPI_Comm* made);

}  // namespace unisono::adapter
