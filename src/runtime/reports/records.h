// SPDX-License-Identifier: BSD-3-Clause
// What this rank has seen of its communicators' calls, as they end: added up here until the job ends.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicators/communicator.h"
#include "runtime/reports/rank_records.h"
#include "tuning/tables/leaning.h"

namespace unisono::runtime {

// A rank's time from MPI_Init on, and how much of it calls that do not block were under way.
struct RankTime {
  double wall_s = std::numeric_limits<double>::infinity();
  double under_way_s = 0;
};

class Records {
 public:
  // Adds what `communicator` has seen; once per communicator, when it is freed or the job ends.
  void absorb(const Communicator& communicator);
  void add_native(Operation operation, NativeReason reason, std::uint64_t calls);
  // What the starts of a persistent call are counted in that is left to the host: by decision, or before one.
  // The program may start it when its communicator is gone.
  std::shared_ptr<HostStarts> starts_of_host(const Communicator& c, Operation operation, int size_class,
                                             const tuning::Choice& choice);
  std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason);
  void absorb_starts();  // all that were made since the last time
  // Only one class of it, which begins anew. How many calls these are.
  std::uint64_t absorb(const Communicator& communicator, Operation operation, int size_class,
                       const CallClass& entry, CallForm form);
  void keep_profile(RankProfile profile) { profile_ = std::move(profile); }
  // What is estimated does not make this rank's blocking calls take longer than it ran.
  RankRecords all(const RankTime& rank_time = {}) const;
  // Of that only what later jobs are told: what was learned, and which kept rules the job went by. Nothing on
  // most ranks.
  RankRecords learned_alone() const;

 private:
  // What was seen of calls that are one row of the report. The times are the calls' own, which the rank's may
  // turn out to be too short for.
  struct Sum {
    ClassRecord record;
    CallTimes::Sum time;
  };
  // Calls that the host starts, beside what they will be in the report.
  struct Left {
    Sum sum;
    std::shared_ptr<HostStarts> starts = std::make_shared<HostStarts>();
  };
  CallTimes::Sum blocking_time() const;
  void describe(const Communicator& c, const tuning::Choice& choice, ClassRecord* record);
  void absorb_agents(const AgentShare& share);
  void absorb_class(const Communicator& c, const ClassKey& key, const CallClass& entry);
  std::uint64_t absorb_learned(const Communicator& c, Operation operation, int size_class,
                               const LearnedClass& learned);
  std::uint64_t absorb_classes(const Communicator& c, const ClassTable& table, Operation operation,
                               CallForm form);
  std::vector<LearnedKind> learned_;
  tuning::Leans leans_;  // one rank of a communicator tells them
  std::map<ClassKey, Sum> classes_;
  std::map<ClassKey, Left> left_;
  std::map<std::pair<Operation, NativeReason>, std::shared_ptr<HostStarts>> left_for_;
  std::map<std::pair<Operation, std::string>, std::uint64_t> native_;  // with the reason
  std::map<std::pair<Operation, int>, std::uint64_t> by_agents_;       // with the carrier's number
  AgentTimes agent_times_;
  std::vector<CommunicatorRecord> communicators_;
  std::vector<GraphRecord> graphs_;
  std::optional<RankProfile> profile_;
};

}  // namespace unisono::runtime
