// SPDX-License-Identifier: BSD-3-Clause
// What others must know of persistent requests of ours.
#pragma once

#include "adapter/requests/failures.h"

namespace unisono::adapter {

bool has_persistent_calls();
void end_persistent_calls();
// Of a persistent request of ours; null: it is none.
Failure* failure_of_persistent(MPI_Request request);

}  // namespace unisono::adapter
