// SPDX-License-Identifier: BSD-3-Clause
// A test at the first calls of a kind (A10), where a table decides that was tuned for other layouts or sizes.
// Its neighbours are tried once, on memory of our own, and the fastest is kept for this job and the next
// ones. All ranks are inside of the same blocking call meanwhile, and go by numbers that they have agreed on.
#pragma once

#include <vector>

#include "runtime/decisions/decisions.h"
#include "runtime/learning/agreements.h"
#include "tuning/decisions/candidates.h"

namespace unisono::runtime {

class StartupTest {
 public:
  StartupTest(const World& world, Decisions& decisions, const Schedules& schedules,
              const Agreements& agreements, const tuning::Predict& predict)
      : world_(world),
        decisions_(decisions),
        schedules_(schedules),
        agreements_(agreements),
        predict_(predict) {}

  // Of a class that was just decided: is it to be tested, and when first?
  void plan(CallClass& entry, const tuning::Question& asked) const;
  // At a call that is due. Where the job counts as short nothing happens.
  void run(Communicator& c, CallClass& entry, const Call& call, bool is_commutative, std::int64_t bytes);
  // At the job's end. Rank 0 has seen all tests but those of communicators that it is not in.
  void keep() const;

 private:
  // One algorithm of the test, with memory that no program sees.
  struct Tested {
    CallClass entry;
    double time_s = 0;  // of a call, as agreed
  };
  // What all that are tested have in common.
  struct Setting {
    Operation operation;
    bool is_commutative;
    std::int64_t unit_bytes;
    std::vector<char> input, output;
  };
  std::vector<Tested> candidates(const Communicator& c, const CallClass& entry,
                                 const tuning::Question& asked) const;
  double batch_s(Communicator& c, Tested& tested, Setting& setting, int calls) const;
  std::size_t best_of(Communicator& c, std::vector<Tested>* list, Setting& setting) const;
  void run_once(Communicator& c, CallClass& entry, Setting& setting) const;
  void keep(const tuning::Question& asked, const std::vector<Tested>& list, std::size_t best);

  const World& world_;
  Decisions& decisions_;
  const Schedules& schedules_;
  const Agreements& agreements_;
  const tuning::Predict& predict_;
  std::vector<tuning::Rule> rules_;  // of this rank's communicators
};

}  // namespace unisono::runtime
