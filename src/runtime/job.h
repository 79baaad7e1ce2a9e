// SPDX-License-Identifier: BSD-3-Clause
// One process's part of a job: owns what it is made of (job_parts.h), begins it, ends it (job_life.h). The
// functions of runtime.h act on the process's one Job; tests make a Job for each thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "runtime/call/call.h"
#include "runtime/decisions/crash_watch.h"
#include "tuning/decisions/decision.h"

namespace unisono::runtime {

struct JobParts;

class Job {
 public:
  // Collective over the host's world. `options` as this process has read them, `warnings` of what was wrong.
  Job(host::Host& host, Options options, const std::vector<std::string>& warnings = {});
  // Beside the program's job, over a communicator of several worlds (across.h).
  Job(host::Host& host, Options options, Job& beside);
  ~Job();
  Job(const Job&) = delete;
  void finish();  // collective over the host's world; idempotent
  // Is nothing set up, and every call the host's, for the whole job?
  bool has_stepped_aside() const;
  // For who needs more than the functions below, or all speed.
  JobParts& parts() { return *parts_; }

  // As the functions of these names in runtime.h.
  Outcome collective(const Call& call, int* error);
  Outcome start(const Call& call, const Completion& completion, HostPart** host = nullptr);
  bool make_progress();  // true where a call has ended
  void begin_region(const std::string& name);
  void end_region();
  bool set_algorithm(const std::string& text);
  std::optional<tuning::Choice> decision(Operation operation, std::int64_t bytes,
                                         std::optional<host::Comm> handle = {}, bool is_blocking = true);
  // What is to be known for the case that this process dies; nothing where that is not looked at.
  std::optional<CrashFacts> crash_facts() const;

 private:
  std::unique_ptr<JobParts> parts_;
  bool is_finished_;
};

}  // namespace unisono::runtime
