// SPDX-License-Identifier: BSD-3-Clause
// Learning while the program runs (S2-S5, B2): which calls are looked at, and how ranks agree on what they
// saw. All ranks know from the numbers of their calls when that is; nothing but what was agreed on decides.
// docs/guide/learning.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/learned_class.h"
#include "runtime/learning/agreements.h"
#include "runtime/learning/alike_communicators.h"
#include "runtime/learning/startup_test.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {

class Learning {
 public:
  Learning(const World& world, Decisions& decisions, const Schedules& schedules);

  bool is_on() const { return mode_ != Mode::off; }
  // What the tables say is where learning begins. Before anything is learned.
  void begin_with(const std::vector<tuning::SourcedTable>& tables);
  // Have jobs kept rules, or may this one?
  bool has_known_rules() const { return known_rules_.has_value(); }
  tuning::Findings& findings() { return alike_.findings(); }

  // The class of a blocking call, decided for; of a kind that is learned, the class of the candidate that is
  // next.
  CallClass& class_of(Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes);
  // What a call that does not block uses of what was learned; null: nothing was.
  CallClass* class_of_start(Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes,
                            std::shared_ptr<LearnedClass>* whole);
  // What serves calls of so many bytes now.
  std::optional<tuning::Choice> choice_for(Communicator& c, Operation operation, std::int64_t bytes,
                                           bool is_blocking);
  // Before a call of a candidate that is timed.
  void prepare(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes);

  // At the job's end.
  void keep_tested() const { test_.keep(); }

 private:
  enum class Mode : std::uint8_t { off, star, guarded };
  void begin(Communicator& c, CallClass& entry, const tuning::Question& question);
  void learn(Communicator& c, CallClass& entry, const tuning::Question& question);
  tuning::Learner learner_for(Communicator& c, const tuning::CandidateList& list, Operation operation) const;
  bool waits_for_alike(const CallClass& entry, const tuning::Question& question) const;
  void agree_on_next(Communicator& c, LearnedClass& learned, const Call& call);
  // Before the next so many calls of a candidate, or its first one.
  void make_ready(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes,
                  int calls) const;
  void align(Communicator& c, LearnedClass& learned, const Call& call) const;

  const World& world_;
  Decisions& decisions_;
  Mode mode_;
  tuning::LearnSettings settings_;
  std::optional<tuning::TableRules> known_rules_;  // where learning is on, or jobs have kept any
  tuning::Predict predict_;                        // empty: nothing is predicted
  Agreements agreements_;
  AlikeCommunicators alike_;
  StartupTest test_;
};

}  // namespace unisono::runtime
