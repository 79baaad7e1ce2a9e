// SPDX-License-Identifier: BSD-3-Clause
// Calls that wrappers hand to the host without asking the runtime, counted for the report.
#pragma once

#include <memory>

#include "adapter/below/family.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

// What call a wrapper is in.
struct CallSite {
  Operation operation;
  MPI_Comm comm;
};

// Before the host is called. Calls from inside another one are the host's own, and no calls of the program.
void count_left(const CallSite& site);

// The same of a persistent call, each start of which counts; null: nothing is to be counted.
std::shared_ptr<runtime::HostStarts> starts_left(const CallSite& site);

}  // namespace unisono::adapter
