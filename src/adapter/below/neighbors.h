// SPDX-License-Identifier: BSD-3-Clause
// How many neighbours this process has on a communicator's topology.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

struct NeighborCounts {
  bool has_topology = false;
  int in = 0;   // blocks come from so many ...
  int out = 0;  // ... and go to so many
};

// Gives the host's error: its handler has been called.
int count_neighbors(MPI_Comm comm, NeighborCounts* found);

}  // namespace unisono::adapter
