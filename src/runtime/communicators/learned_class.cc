// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/learned_class.h"

#include <algorithm>
#include <utility>

namespace unisono::runtime {
namespace {

// Two looks at the clock; to find out how long they take would take as long again.
constexpr double plain_look_s = 50e-9;

}  // namespace

LearnedClass::LearnedClass(Communicator* of, std::string region_name, const tuning::CandidateList& list,
                           tuning::Learner made)
    : communicator(of),
      region(std::move(region_name)),
      blocking(list.choices.size()),
      non_blocking(list.choices.size()),
      persistent(list.choices.size()),
      learner(std::move(made)) {
  for (std::size_t k = 0; k < list.choices.size(); ++k) {
    blocking[k].choice = std::make_unique<tuning::Choice>(list.choices[k]);
    blocking[k].learner = this;
    if (list.candidates[k].is_usual) usual = k;
  }
}

std::uint64_t LearnedClass::calls() const {
  std::uint64_t sum = 0;
  for (const CallClass& entry : blocking) sum += entry.calls;
  return sum;
}

void LearnedClass::take_over(CallClass* before) {
  CallClass& served = blocking[usual];
  served.calls = std::exchange(before->calls, 0);
  served.bytes = std::exchange(before->bytes, 0);
  served.checks = std::exchange(before->checks, 0);
  served.mismatches = std::exchange(before->mismatches, 0);
  served.times = std::exchange(before->times, {});
  served.last = std::exchange(before->last, {});
}

void LearnedClass::settle() {
  now().sample_mask = learner.interval() - 1;
  now().plain_looks = learner.plain_looks();
}

// A call in a region of this rank's own says nothing about the region that all ranks have agreed on.
void LearnedClass::look(double seconds) {
  learner.look(communicator->learning.regions.own() == region_number ? seconds : -1, calls());
  settle();
}

void LearnedClass::look_plainly(double seconds) {
  learner.look_plainly(communicator->learning.regions.own() == region_number ? seconds : -1);
  overhead_s += plain_look_s;
}

bool may_use(const CallClass& entry, const algorithms::Descriptor& algorithm) {
  const auto chooses = [&](const CallClass& made) {
    return made.choice != nullptr && made.choice->algorithm == &algorithm;
  };
  if (entry.kind != CallClass::Kind::learned) return chooses(entry);
  return std::ranges::any_of(entry.learned->blocking, chooses);
}

}  // namespace unisono::runtime
