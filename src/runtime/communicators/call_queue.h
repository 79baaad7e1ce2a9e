// SPDX-License-Identifier: BSD-3-Clause
// A communicator's non-blocking calls. They run one after the other, in the order in which the program made
// them. That order is the same on all ranks, so a slice and a range of tags of their own serve them as others
// serve blocking calls.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/float_control.h"
#include "runtime/call/call.h"
#include "runtime/communicators/call_run.h"
#include "runtime/communicators/queues_lock.h"
#include "runtime/judging/started_check.h"
#include "runtime/packing/transfer.h"
#include "runtime/world/progress.h"

namespace unisono::runtime {

struct PreparedCall;

// Option verify: the check of a call, by what it runs, and what ranks tell each other before it
// (started_checks.h).
struct StartedVerification {
  std::unique_ptr<StartedCheck> check;
  std::optional<host::Comm> comm;  // on which the host makes its part; nothing: the call's own
  tuning::Choice choice;
  std::vector<std::uint64_t> findings;
};

// From the program's call until its request is complete.
struct StartedCall : Run {
  StartedCall() {
    is_blocking = false;
    work = &own_work;
  }

  Completion completion;
  std::shared_ptr<PreparedCall> prepared;      // of a persistent call's start; lives on though it is freed
  std::shared_ptr<LearnedClass> learned;       // what `entry` is a part of, if of any
  NativeReason left_for = NativeReason::none;  // to the host, before anything was decided
  double start_s = 0, ended_s = 0;
  std::uint64_t start_ticks = 0;
  bool needs_thread = true;  // does the thread beside the program look after it?
  // Reductions: how the thread computes that started it. Whichever thread lets it go on does so alike.
  std::optional<FloatControl> float_control;
  bool is_of_program_alone = false;  // its operator is the program's: it runs in the program's threads
  Workspace own_work;
  // Do the ranks agree before it on what they have found? (started_checks.h)
  enum class Agreement : std::uint8_t { none, to_come, under_way } agreement = Agreement::none;
  StartedVerification verified;
};

struct CallQueue {
  // What is not guarded here blocking calls ask without the lock. Has a blocking collective something to do
  // or to wait for first?
  bool comes_before_blocking() const {
    return is_to_settle || (is_waited_for && under_way.load(std::memory_order_acquire) != 0);
  }
  std::atomic<int> under_way{0};
  // Blocking calls run after those under way: where both use one slice, or are checked (option verify).
  bool is_waited_for = false;
  // A persistent call's starts are classes of their own.
  OperationTables& classes_of(const Call& call) { return call.is_persistent ? persistent : classes; }
  OperationTables classes, persistent, by_agents;
  std::deque<std::unique_ptr<StartedCall>> calls UNISONO_GUARDED_BY(held_queues);
  // A thread lets the first one go on, without the lock: the others leave them alone meanwhile.
  bool is_polled_apart UNISONO_GUARDED_BY(held_queues) = false;
  // Those that are over, with their memory: a repeated call allocates nothing.
  std::vector<std::unique_ptr<StartedCall>> spare UNISONO_GUARDED_BY(held_queues);

  // Option verify (started_checks.h). Calls started since the last one that was checked; was one since
  // the last blocking collective?
  std::uint64_t starts_since_check UNISONO_GUARDED_BY(held_queues) = 0;
  bool is_to_settle = false;
  bool gives_up_single_copy UNISONO_GUARDED_BY(held_queues) = false;  // at the next blocking collective
  std::uint64_t starts UNISONO_GUARDED_BY(held_queues) = 0;  // until such calls have a slice of their own
  // This rank's, that not all know of.
  std::map<std::size_t, Finding> findings UNISONO_GUARDED_BY(held_queues);
  std::deque<KeptCheck> kept UNISONO_GUARDED_BY(held_queues);
  // Found wrong by agreement, in the order of the calls; out of use for good at the next blocking collective.
  std::set<const algorithms::Descriptor*> found UNISONO_GUARDED_BY(held_queues);
  // What it was said of that nobody can tell.
  std::set<const algorithms::Descriptor*> doubted UNISONO_GUARDED_BY(held_queues);
  std::shared_ptr<const schedule::Compiled> agreeing UNISONO_GUARDED_BY(held_queues);
};

// Waits for the communicator's calls that do not block.
void drain(Communicator& c, Progress& progress);

}  // namespace unisono::runtime
