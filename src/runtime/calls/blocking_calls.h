// SPDX-License-Identifier: BSD-3-Clause
// The way of a blocking call: communicator, class, decision, transfer, execution, record. What is known of a
// call like the one before is not looked up again.
#pragma once

#include "runtime/call/gate.h"
#include "runtime/checks/started_checks.h"
#include "runtime/engines/engines.h"
#include "runtime/engines/neighborhoods.h"
#include "runtime/learning/learning.h"

namespace unisono::runtime {

class BlockingCalls {
 public:
  BlockingCalls(const World& world, Gate& gate, Communicators& communicators, const Schedules& schedules,
                const Engines& engines, const Neighborhoods& neighborhoods, Decisions& decisions,
                Learning& learning, Checks& checks, StartedChecks& started_checks)
      : world_(world),
        gate_(gate),
        communicators_(communicators),
        schedules_(schedules),
        engines_(engines),
        neighborhoods_(neighborhoods),
        decisions_(decisions),
        learning_(learning),
        checks_(checks),
        started_checks_(started_checks) {}

  // As runtime::collective, collective_staged, leaves_to_host, native_finished, compare.
  Outcome run(const Call& call, int* error);
  Outcome run_staged(const Call& call, int* error);
  bool leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced);
  static void native_finished(double seconds);
  int compare(const Call& call, int host_error);

 private:
  Communicator* find_to_take(const Call& call);
  Outcome run_anew(Communicator& c, const Call& call, int* error);
  Outcome run_remembered(Communicator& c, const CallMemo& memo, const Call& call);
  Outcome run_remembered_schedule(Communicator& c, const CallMemo& memo, const Call& call, int* error);
  CallClass& served_class(Communicator& c, CallClass& by_agents, const Call& call, bool is_commutative,
                          std::int64_t bytes);
  Outcome run_blocks(Communicator& c, const Call& call, int* error);
  Outcome run_neighbors(Communicator& c, const Call& call, int* error);
  // Counts the call, and lets `run_it` serve it unless it is left to the host.
  template <class Serve>
  Outcome serve(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes, Serve run_it,
                int* error);
  void remember(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
                bool is_commutative);

  const World& world_;
  Gate& gate_;
  Communicators& communicators_;
  const Schedules& schedules_;
  const Engines& engines_;
  const Neighborhoods& neighborhoods_;
  Decisions& decisions_;
  Learning& learning_;
  Checks& checks_;
  StartedChecks& started_checks_;
};

}  // namespace unisono::runtime
