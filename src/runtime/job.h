// SPDX-License-Identifier: BSD-3-Clause
// One process's part of a job: owns what it is made of, begins it, ends it. The functions of runtime.h act on
// the process's one Job; tests make a Job for each thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/calls/blocking_calls.h"
#include "runtime/calls/persistent_calls.h"
#include "runtime/calls/started_calls.h"
#include "runtime/decisions/left_out.h"

namespace unisono::runtime {

class Job {
 public:
  // Collective over the host's world. `options` as this process has read them, `warnings` of what was wrong.
  Job(host::Host& host, Options options, const std::vector<std::string>& warnings = {});
  ~Job() { finish(); }
  Job(const Job&) = delete;
  void finish();  // collective over the host's world; idempotent
  // Is nothing set up, and every call the host's, for the whole job?
  bool has_stepped_aside() const { return !world_.is_open(); }

  // As the functions of these names in runtime.h.
  Outcome collective(const Call& call, int* error) { return blocking_.run(call, error); }
  Outcome collective_staged(const Call& call, int* error) { return blocking_.run_staged(call, error); }
  bool leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced = nullptr) {
    return blocking_.leaves_to_host(operation, handle, reduced);
  }
  Outcome leave(Operation operation, NativeReason reason) { return gate_.leave(operation, reason); }
  void native_finished(const Call&, double seconds) { BlockingCalls::native_finished(seconds); }
  int compare(const Call& call, int host_error) { return blocking_.compare(call, host_error); }

  Outcome start(const Call& call, const Completion& completion, HostPart** host = nullptr) {
    return started_.start(call, completion, host);
  }
  void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context) {
    started_checks_.host_has_started(host, is_over, context);
  }
  PersistentCalls& persistent() { return persistent_; }
  Progress& progress() { return progress_; }
  bool has_calls_under_way() const { return progress_.under_way() != 0; }
  bool make_progress() { return progress_.make(); }  // true where a call has ended
  bool shares_cores() const { return world_.shares_cores(); }

  Communicators& communicators() { return communicators_; }
  void begin_region(const std::string& name);
  void end_region();
  void set_enabled(bool is_enabled) { gate_.set_open(is_enabled); }
  bool set_algorithm(const std::string& text);
  std::optional<tuning::Choice> decision(Operation operation, std::int64_t bytes,
                                         std::optional<host::Comm> handle = {});
  // What is to be known for the case that this process dies; nothing where that is not looked at.
  std::optional<CrashFacts> crash_facts() const;

 private:
  void make_decider();
  void set_up_world();
  void end_calls();
  void report();

  // From the ground up: each knows what stands before it.
  World world_;
  Gate gate_;
  Progress progress_;
  Quarantine quarantine_;
  Guarded<Records> records_;
  QueuesLock queues_;
  Regions regions_;
  Slices slices_;
  SetUp set_up_;
  Communicators communicators_;
  SingleCopy single_copy_;
  Schedules schedules_;
  Engines engines_;
  Decisions decisions_;
  Learning learning_;
  Checks checks_;
  StartedChecks started_checks_;
  StartedCalls started_;
  PersistentCalls persistent_;
  BlockingCalls blocking_;
  tuning::Crash own_crash_;
  bool is_finished_ = false;
};

}  // namespace unisono::runtime
