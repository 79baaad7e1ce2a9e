// SPDX-License-Identifier: BSD-3-Clause
// What a job is made of, from the ground up: each part knows what stands before it. Apart from job.h, so that
// who begins and ends a job need not know its parts.
#pragma once

#include <string>
#include <vector>

#include "runtime/calls/blocking_calls.h"
#include "runtime/calls/persistent_calls.h"
#include "runtime/calls/started_calls.h"
#include "runtime/decisions/left_out.h"
#include "runtime/engines/neighborhoods.h"
#include "runtime/messages/messages.h"

namespace unisono::runtime {

struct JobParts {
  // Collective over the host's world.
  // `beside`: the program's job, where this one is beside it.
  JobParts(host::Host& host, Options options, const std::vector<std::string>& warnings,
           JobParts* beside = nullptr);
  JobParts(const JobParts&) = delete;

  World world;
  Gate gate;
  Progress progress;
  Quarantine quarantine;
  bool is_across;  // a job beside the program's
  Guarded<Records> own_records;
  Guarded<Records>& records;  // the program's job's
  QueuesLock queues;
  Regions regions;
  Slices slices;
  SetUp set_up;
  Communicators communicators;
  SingleCopy single_copy;
  Schedules schedules;
  Neighborhoods neighborhoods;
  Engines engines;
  Decisions decisions;
  Learning learning;
  Checks checks;
  StartedChecks started_checks;
  StartedCalls started;
  PersistentCalls persistent;
  BlockingCalls blocking;
  Messages messages;
  tuning::Crash own_crash;
};

}  // namespace unisono::runtime
