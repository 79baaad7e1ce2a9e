// SPDX-License-Identifier: BSD-3-Clause
// What the profile has to know of the program's handles. Of a type: how long an element is. Of a communicator
// or a window: where its members are. Of a persistent request: what it moves at each start.
#pragma once

#include <vector>

#include "adapter/below/family.h"
#include "adapter/profile/counters.h"

namespace unisono::adapter::profile {

struct Partners {
  std::vector<Distance> distance;         // by rank
  Distance farthest = Distance::unknown;  // of all
  int rank = 0, neighbors = 0;            // its own; to which it sends in collectives of neighbours
};

// Once, when the job is set up: node by rank of the world (null: not known).
void begin_known(const std::vector<int>* node_labels);

// Handles must be valid: these are asked after a call with them has succeeded.
std::int64_t type_bytes(ThreadTable* table, MPI_Datatype type);
const Partners& partners(ThreadTable* table, MPI_Comm comm);
const Partners& partners_on(ThreadTable* table, MPI_Win window);
Movement moved_at_start(ThreadTable* table, MPI_Request request);
void remember_start(MPI_Request request, const Movement& movement);

// After the program has freed them: handles may come again as others.
void forget_type();
void forget_communicator(std::uintptr_t comm);
void forget_window(std::uintptr_t window);
void forget_request(std::uintptr_t request);

// Bytes of what was received; less than 0: not known.
std::int64_t received_bytes(const MPI_Status& status);

}  // namespace unisono::adapter::profile
