// SPDX-License-Identifier: BSD-3-Clause
// Self-check of calls that do not block (B9). Such a call waits for nobody: each rank judges by itself what
// it sees. What ranks have found they tell each other in agreements, which take their turn among the calls of
// the communicator. From then on calls run by other algorithms of Unisono's. Whether the host makes them is
// decided anew at the next blocking collective, where all ranks are known to have come that far.
// docs/guide/verify.md.
#pragma once

#include <vector>

#include "runtime/checks/checks.h"
#include "runtime/communicators/call_queue.h"
#include "runtime/communicators/queues_lock.h"
#include "runtime/engines/schedules.h"

namespace unisono::runtime {

class StartedChecks {
 public:
  StartedChecks(const World& world, Progress& progress, QueuesLock& queues, Decisions& decisions,
                const Schedules& schedules, Quarantine& quarantine, Checks& checks)
      : world_(world),
        progress_(progress),
        queues_(queues),
        decisions_(decisions),
        schedules_(schedules),
        quarantine_(quarantine),
        checks_(checks) {}

  // When a call is started. Is it checked, and do the ranks agree before it on what they have found? The
  // numbers of calls decide. `begin`: of one that is, when it is ready to run.
  void plan(StartedCall* started, bool can_host_start) UNISONO_REQUIRES(held_queues);
  HostPart* begin(StartedCall* started) UNISONO_REQUIRES(held_queues);
  void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context)
      UNISONO_EXCLUDES(held_queues);
  // On a thread of the program. Gives up the lock where the host looks: it may call the program's functions.
  void look_at_host_parts() UNISONO_REQUIRES(held_queues);
  // When both parts have ended. The host's result stays, but that of a reproducible communicator is
  // Unisono's.
  void conclude(StartedCall* started) UNISONO_EXCLUDES(held_queues);

  // When a call's turn has come: agrees before it, and takes what the ranks have agreed on.
  void start_agreement(StartedCall* started) const UNISONO_REQUIRES(held_queues);
  void take_findings(Communicator& c, const std::vector<std::uint64_t>& told) UNISONO_REQUIRES(held_queues);
  // Another algorithm, where the call's was found wrong since it was started. True: it has one.
  bool replace_where_found_wrong(StartedCall* started) UNISONO_REQUIRES(held_queues);

  // At a blocking collective, after all calls under way: the ranks agree on what is left, and all that was
  // decided by what was found wrong is decided anew. Not checked: MPI forbids other calls on it meanwhile.
  void settle(Communicator& c) UNISONO_NOT_CHECKED;
  // At a communicator's end nobody is left to agree with. Not checked: nor is anybody left to hold off.
  void say_findings(Communicator& c) const UNISONO_NOT_CHECKED;

 private:
  const schedule::Compiled* agreeing_aside(Communicator& c) const UNISONO_REQUIRES(held_queues);
  std::string write_kept(const Communicator& c, std::uint64_t check) const UNISONO_REQUIRES(held_queues);
  tuning::Choice find_stand_in(Communicator& c, const StartedCall& started) UNISONO_REQUIRES(held_queues);

  const World& world_;
  Progress& progress_;
  QueuesLock& queues_;
  Decisions& decisions_;
  const Schedules& schedules_;
  Quarantine& quarantine_;
  Checks& checks_;
  std::vector<StartedCheck*> open_ UNISONO_GUARDED_BY(held_queues);  // whose part of the host's is under way
};

}  // namespace unisono::runtime
