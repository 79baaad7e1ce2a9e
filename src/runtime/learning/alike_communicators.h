// SPDX-License-Identifier: BSD-3-Clause
// A communicator begins with what one of its ranks has learned on another of the same shape. Else it begins
// with what was told on its node of one that none of them is in.
#pragma once

#include <optional>

#include "runtime/communicators/learned_class.h"
#include "runtime/learning/agreements.h"
#include "tuning/decisions/candidates.h"
#include "tuning/learning/alike.h"

namespace unisono::runtime {

class AlikeCommunicators {
 public:
  AlikeCommunicators(const World& world, const Agreements& agreements)
      : world_(world), agreements_(agreements) {}

  // What is known of calls of a kind.
  struct Known {
    std::optional<tuning::Finding> own;  // what this rank knows
    int teller = -1;                     // the rank that tells; -1: nobody knows anything
    bool is_being_learned = false;
  };
  // At a call that is the same on all ranks. Where several ranks know something the lowest one tells, so that
  // all begin alike.
  Known find(Communicator& c, const tuning::Kind& kind);
  void begin(Communicator& c, const Known& known, tuning::CandidateList* list);
  // After something was measured. What is chosen without a comparison says nothing.
  void keep(const LearnedClass& learned);

  tuning::Findings& findings() { return findings_; }

 private:
  const World& world_;
  const Agreements& agreements_;
  tuning::Findings findings_;  // of this job's communicators
};

}  // namespace unisono::runtime
