// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/alike_communicators.h"

#include <algorithm>

namespace unisono::runtime {

namespace {

// What ranks say of others that are alike; the least number counts. From 0 on a rank knows what was found
// out. From here on it knows of learning that has found nothing yet.
constexpr std::uint64_t first_of_begun = std::uint64_t{1} << 32;

}  // namespace

AlikeCommunicators::Known AlikeCommunicators::find(Communicator& c, const tuning::Kind& kind) {
  Known alike{.own = findings_.find(kind)};
  const auto rank = static_cast<std::uint64_t>(c.rank);
  const std::uint64_t nobody = tuning::time_number(tuning::unknown_s, false);
  std::uint64_t number = alike.own ? rank : findings_.is_being_learned(kind) ? first_of_begun + rank : nobody;
  const int error = agreements_.least(c, &number, 1);
  if (error != host::success) {
    world_.host.call_error_handler(c.handle, error);
    return alike;
  }
  if (number < first_of_begun) alike.teller = static_cast<int>(number);
  alike.is_being_learned = number >= first_of_begun && number != nobody;
  return alike;
}

void AlikeCommunicators::begin(Communicator& c, const Known& alike, tuning::CandidateList* list) {
  if (alike.teller < 0) return;
  const bool tells = alike.teller == c.rank;
  std::vector<std::uint64_t> numbers = tuning::numbers_to_tell(tells ? &*alike.own : nullptr, *list);
  const int error = agreements_.least(c, numbers.data(), numbers.size());
  if (error != host::success) {
    world_.host.call_error_handler(c.handle, error);
  } else {
    tuning::take_told(numbers, list);
  }
}

void AlikeCommunicators::keep(const LearnedClass& learned) {
  const tuning::Policy& policy = learned.learner.policy();
  tuning::Finding finding;
  for (std::size_t k = 0; k < learned.blocking.size(); ++k) {
    const auto candidate = static_cast<int>(k);
    const double time_s = policy.time_s(candidate);
    if (!policy.is_measured(candidate) || time_s == tuning::unknown_s) continue;
    finding.measured.push_back({.algorithm = tuning::digest_of(learned.blocking[k].choice->text()),
                                .time_s = time_s,
                                .uncertainty = policy.uncertainty(candidate)});
    if (candidate == policy.chosen()) finding.chosen = finding.measured.back().algorithm;
  }
  if (finding.measured.size() < 2 || finding.chosen == 0) return;
  const Communicator& c = *learned.communicator;
  const bool is_first_of_node = std::ranges::any_of(
      c.layout->ranks_of, [&](const std::vector<int>& ranks) { return ranks.front() == c.rank; });
  findings_.keep(learned.kind, std::move(finding), is_first_of_node);
}

}  // namespace unisono::runtime
