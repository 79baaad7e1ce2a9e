// SPDX-License-Identifier: BSD-3-Clause
// Steps of calls that do not block, in which functions of the program may run. These are its operators, which
// we call, and those of its calls that the host makes, wherever the host makes progress. A program may hold a
// lock around its calls that its operator takes too. So they run in threads of the program alone, as
// natively, and no lock is held around them that another thread of the program waits for.
#pragma once

#include "runtime/communicators/call_queue.h"
#include "runtime/engines/engine.h"
#include "runtime/world/progress.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

// Does this call go on in the program's threads alone?
bool is_of_program_alone(const World& world, const Progress& progress, const Call& call);
// Is it the host's? Of a reduction, on all ranks alike.
bool is_left_for_operator(const World& world, const Progress& progress, const Communicator& c,
                          const Call& call, host::Datatype type);
// One step, on any thread. Gives up the lock where the program's functions may run. True where
// the agreement is over, or else the call.
bool poll_step(const Engine& engine, StartedCall* call, QueuesLock& queues) UNISONO_REQUIRES(held_queues);

}  // namespace unisono::runtime
