// SPDX-License-Identifier: BSD-3-Clause
// Self-check and quarantine (B9): a sample of blocking calls is made by Unisono and by the host, and the
// results are compared. What is decided here is agreed on by all ranks of the communicator.
// docs/guide/verify.md.
#pragma once

#include "runtime/communicators/quarantine.h"
#include "runtime/decisions/decisions.h"
#include "runtime/judging/verification.h"

namespace unisono::runtime {

class Checks {
 public:
  Checks(const World& world, Decisions& decisions, Quarantine& quarantine)
      : world_(world), decisions_(decisions), quarantine_(quarantine) {}

  // Is this call of the class one that is checked?
  static bool is_due(const Communicator& c, const CallClass& entry, const Call& call) {
    return c.checking.interval != 0 && (entry.calls - 1) % c.checking.interval == 0 &&
           moves_data(call.operation);
  }
  // Around Unisono's own call: what it finds, and what it comes back with.
  void begin(Communicator& c, CallClass& entry, const Call& call) const;
  static void keep_own(Communicator& c, int error);
  // After the host's. What the MPI function is to return.
  int compare(Communicator& c, const Call& call, int host_error);

  // Where several edges lead from one rank to another the standard is right, not the host.
  static void correct_host(const Communicator& c, const Call& call, Verification& v);

  // What other communicators have found wrong since is out of use on this one. Collective.
  void take_up_quarantine(Communicator& c);
  // What was decided by quarantined algorithms is decided anew.
  void leave_out_quarantined(Communicator& c);
  // For the report.
  void note_quarantine(const Communicator& c, const std::string& algorithm) const;

 private:
  std::int64_t first_beyond_bound(Communicator& c, const Call& call, const host::TypeInfo& info,
                                  Verification& v) const;
  int conclude(Communicator& c, const Call& call, Verification& v, std::uint64_t seen, int host_error);
  void report_mismatch(Communicator& c, const Call& call, Verification& v, std::int64_t wrong, int reporting);
  void quarantine(Communicator& c, Operation operation);

  const World& world_;
  Decisions& decisions_;
  Quarantine& quarantine_;
};

}  // namespace unisono::runtime
