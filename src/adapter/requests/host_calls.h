// SPDX-License-Identifier: BSD-3-Clause
// The host's own calls that stand behind requests of ours: somebody must look after them.
#pragma once

#include <memory>

#include "adapter/below/family.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

struct HostCall {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status* status = MPI_STATUS_IGNORE;
  std::shared_ptr<void> kept;
  runtime::Completion completion;
};

void look_after(HostCall call);
bool has_host_calls();
// Completes the requests of those that are over. True where one is.
bool look_at_host_calls();

}  // namespace unisono::adapter
