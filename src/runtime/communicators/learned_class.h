// SPDX-License-Identifier: BSD-3-Clause
// What is learned of one kind of calls: communicator x operation x size class x region (S5).
// docs/guide/learning.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.h"
#include "tuning/decisions/algorithm_text.h"
#include "tuning/decisions/candidates.h"
#include "tuning/learning/alike.h"
#include "tuning/learning/learner.h"

namespace unisono::runtime {

struct LearnedClass {
  // Whose `communicator` it is keeps it.
  LearnedClass(Communicator* of, std::string region_name, const tuning::CandidateList& list,
               tuning::Learner made);
  LearnedClass(const LearnedClass&) = delete;

  CallClass& now() { return blocking[static_cast<std::size_t>(learner.candidate())]; }
  std::uint64_t calls() const;
  // A call of this rank was timed; by the second one of which nothing can follow yet.
  void look(double seconds);
  void look_plainly(double seconds);
  // The calls that were made before are those of the candidate that served them.
  void take_over(CallClass* before);
  // After the learner may have moved on.
  void settle();

  Communicator* communicator;
  std::string region;
  tuning::Kind kind;
  std::shared_ptr<const tuning::Kind> token;  // as long as this lives it may find out something
  std::uint64_t region_number = 0;
  bool is_commutative = true;
  std::size_t usual = 0;                   // the candidate that would serve the calls without learning
  std::vector<tuning::LeanedOn> leans_on;  // kept rules that say another one, and that one
  tuning::NamedAlgorithm told;
  // By candidate. A non-blocking call uses what the blocking ones have chosen.
  std::vector<CallClass> blocking, non_blocking, persistent;
  tuning::Learner learner;
  double overhead_s = 0;  // this rank's, since the ranks last agreed
};

// Is it so of the class, or of any candidate of what is learned?
template <class Ask>
bool any_candidate(const CallClass& entry, const Ask& is_so) {
  if (entry.kind != CallClass::Kind::learned) return is_so(entry);
  return std::ranges::any_of(entry.learned->blocking, is_so) ||
         std::ranges::any_of(entry.learned->non_blocking, is_so) ||
         std::ranges::any_of(entry.learned->persistent, is_so);
}

// Does the class use the algorithm, or might it? Of what is learned, it may have been tried.
bool may_use(const CallClass& entry, const algorithms::Descriptor& algorithm);

}  // namespace unisono::runtime
