// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the functions that send, receive and probe. Those of messages that stay the MPI's go there
// with all their arguments, and so do calls with arguments that break MPI's rules.
#pragma once

#include <functional>
#include <memory>

#include "adapter/below/functions.h"
#include "preload/adapter_library.h"

namespace unisono::adapter::messages {

// Starts a receive and a send of the MPI's as one request, which keeps `kept` (requests.h).
using Start = std::function<int(MPI_Request*)>;
using StartBoth = int (*)(std::shared_ptr<void> kept, const Start& receive, const Start& send, MPI_Request*);

// Fills the table of wrappers: with the MPI's own functions where Unisono carries no messages.
void add_wrappers(UnisonoFunction* functions, StartBoth start_both);

// Before requests are turned into numbers (conversions.cc).
void begin_conversions();

// Before the first request is made: what the MPI finds where it is handed one past Unisono (leaked.cc).
void begin_leaked();

// The wrappers of each file.
void add_sends(UnisonoFunction* functions);
void add_receives(UnisonoFunction* functions);
void add_both_ways(UnisonoFunction* functions, StartBoth start_both);
void add_probes(UnisonoFunction* functions);
void add_buffers(UnisonoFunction* functions);
void add_conversions(UnisonoFunction* functions);

template <class Function>
UnisonoFunction erased(Function* function) {
  return reinterpret_cast<UnisonoFunction>(function);
}

}  // namespace unisono::adapter::messages
