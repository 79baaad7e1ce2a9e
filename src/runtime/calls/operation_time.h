// SPDX-License-Identifier: BSD-3-Clause
// What the operations on a node's shared memory cost, measured on a communicator's own slice (A9).
#pragma once

#include <optional>

#include "runtime/communicators/communicators.h"
#include "shm/slice/costs.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

// Seconds; less than 0: it has no slice. `wait`: how ranks wait meanwhile; nothing: as they do. Collective.
double operation_time(Communicators& communicators, host::Comm handle, const shm::Measurement& measurement,
                      std::optional<shm::WaitPolicy> wait);

}  // namespace unisono::runtime
