// SPDX-License-Identifier: BSD-3-Clause
// M3, section 4.2.2, figure 4.2: a list for each partner, and one for all others. Partners are those who had
// put many elements into the queue in an earlier run (algorithm 4.1); a perfect hash knows them (algorithm
// 4.2). What P in the key is the source does not say: here the ranks of the job.
#include <algorithm>

#include "matching/context_numbers.h"
#include "matching/edge_point.h"
#include "matching/list_choice.h"
#include "matching/perfect_hash.h"
#include "matching/queue_profile.h"

namespace unisono::matching {
namespace {

class StaticPartners {
 public:
  StaticPartners(const ElementCounts& counts, int ranks, EdgeRule rule)
      : ranks_(static_cast<std::uint64_t>(ranks)), partners_(partner_keys(counts, rule)), hash_(partners_) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    visit(target(envelope));
  }
  template <class Visit>
  void every(const Envelope&, Visit visit) const {
    for (std::uint32_t number = 0; number < lists(); ++number) visit(number);
  }
  std::uint32_t target(const Envelope& envelope) const {
    const auto context = contexts_.find(envelope.context);
    const auto partner = context ? hash_.find(key(*context, envelope.source)) : std::nullopt;
    return partner ? 1 + *partner : 0;
  }
  std::uint32_t any(const Envelope&) const { return 0; }
  void searched(const Envelope&, std::uint64_t) {}
  template <class List>
  void appended(std::uint32_t, const List&) {}
  std::uint32_t lists() const { return 1 + static_cast<std::uint32_t>(partners_.size()); }
  std::uint32_t any_lists() const { return 1; }
  std::size_t bytes() const {
    return contexts_.bytes() + hash_.bytes() + partners_.capacity() * sizeof(partners_[0]);
  }

 private:
  // Equation 4.1.
  std::uint64_t key(std::uint32_t context_number, std::int32_t source) const {
    return static_cast<std::uint64_t>(source) + ranks_ * context_number;
  }

  // Algorithm 4.1: an element of `elements` for each key.
  std::vector<std::uint64_t> partner_keys(const ElementCounts& counts, EdgeRule rule) {
    for (const auto& [place, count] : counts) contexts_.of(place.first);
    std::vector<double> elements(ranks_ * std::max(1U, contexts_.count()));
    for (const auto& [place, count] : counts)
      elements[key(contexts_.of(place.first), place.second)] = static_cast<double>(count);
    const double edge = rule.of(elements);
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < elements.size(); ++i)
      if (elements[i] > edge) keys.push_back(i);
    return keys;
  }

  std::uint64_t ranks_;
  ContextNumbers contexts_;
  std::vector<std::uint64_t> partners_;  // their keys
  PerfectHash hash_;
};

const Registration registration([] {
  return Descriptor{
      .name = "partners_static",
      .source = "M3, algorithms 4.1 and 4.2",
      .sentence = "Partners, known from an earlier run, have a list each; all others share one.",
      .parameters = with_list_parameters(with_edge_parameters({})),
      .needs_profile = true,
      .make =
          [](const Setup& setup) {
            const auto router = [&](const ElementCounts& counts) {
              return StaticPartners(counts, setup.ranks, edge_rule(setup));
            };
            return routed_queues(setup, router(setup.profile->posted), router(setup.profile->unexpected));
          },
  };
});

}  // namespace
}  // namespace unisono::matching
