// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/job_parts.h"

#include <utility>

namespace unisono::runtime {

JobParts::JobParts(host::Host& host, Options options, const std::vector<std::string>& warnings,
                   JobParts* beside)
    : world(host, std::move(options), warnings),
      progress(beside == nullptr ? nullptr : &beside->progress),
      is_across(beside != nullptr),
      records(is_across ? beside->records : own_records),
      regions(world),
      slices(world),
      set_up(world, progress, slices, quarantine),
      communicators(world, progress, gate, regions, set_up),
      single_copy(queues),
      schedules(world, progress, single_copy),
      neighborhoods(world, schedules),
      engines(world, schedules),
      decisions(world, regions, records, engines.agents()),
      learning(world, decisions, schedules),
      checks(world, decisions, quarantine),
      started_checks(world, progress, queues, decisions, schedules, quarantine, checks),
      started(world, gate, progress, queues, communicators, slices, decisions, engines, learning,
              started_checks),
      persistent(world, gate, queues, communicators, neighborhoods, set_up, slices, started, checks,
                 started_checks, records),
      blocking(world, gate, communicators, schedules, engines, neighborhoods, decisions, learning, checks,
               started_checks),
      messages(world, progress) {}

}  // namespace unisono::runtime
