// SPDX-License-Identifier: BSD-3-Clause
// What serves which calls: asks the decider, keeps what was decided with the communicator's classes, and
// decides anew where the program, or a check, asks for it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "runtime/communicators/communicators.h"
#include "runtime/engines/agent_engine.h"
#include "runtime/reports/records.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/decisions/decision.h"
#include "tuning/tables/table.h"

namespace unisono::runtime {

class Decisions {
 public:
  Decisions(const World& world, const Regions& regions, Guarded<Records>& records, const AgentEngine& agents)
      : world_(world), regions_(regions), records_(records), agents_(agents) {}

  // What no rank is to use since jobs have died in it; once, before anything is decided.
  void leave_out(tuning::LeftOut left_out) { left_out_ = std::move(left_out); }
  void decide_by(tuning::Decider decider) { *decider_.lock() = std::move(decider); }

  // What is asked about a call of so many bytes.
  tuning::Question question(const Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes,
                            bool is_blocking) const;
  tuning::Choice choose(const tuning::Question& question);
  // All that could serve, what is chosen first.
  std::vector<tuning::Considered> consider(const tuning::Question& question);
  // For a class of calls, which then knows how they run. `learned`: this, where it may be taken. Returns what
  // was asked.
  tuning::Question decide(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                          std::int64_t bytes, bool is_blocking, const tuning::Choice* learned = nullptr);
  // For blocking calls that agents do not serve, for this reason.
  void decide_without_agents(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                             std::int64_t bytes, std::string why);
  // Classes of the operation, of blocking calls and others, begin anew, where what was decided asks for it.
  void decide_anew(Communicator& c, Operation operation,
                   const std::function<bool(const CallClass&)>& is_asked);
  // All that was decided for single copy, on a communicator whose ranks may not read each other's memory any
  // more.
  void give_up_single_copy(Communicator& c);
  // Forces algorithms, as option 'algorithm' does. False where the text is wrong. Then, with no call under
  // way, all is decided anew.
  bool force(const std::string& text);
  // Were calls left to the host since messages could not go on aside?
  bool has_left_for_progress() const { return has_left_for_progress_.load(std::memory_order_relaxed); }
  // Where ranks may let messages go on aside of the program. A number, by which messages are told apart,
  // comes with the first call that may wait for it.
  bool may_send_aside(const Communicator& c) const {
    return c.id >= 0 && (world_.may_call_host_aside || c.is_reproducible);
  }

 private:
  const World& world_;
  const Regions& regions_;
  Guarded<Records>& records_;
  const AgentEngine& agents_;
  Guarded<tuning::Decider> decider_;
  tuning::LeftOut left_out_;
  std::atomic<bool> has_left_for_progress_{false};
};

}  // namespace unisono::runtime
