// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/learned_rules.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "algorithms/catalogue/agent_descriptors.h"
#include "base/version.h"
#include "patterns/layout.h"
#include "tuning/tables/knowledge.h"

namespace unisono::runtime {
namespace {

constexpr double us_a_second = 1e6;
constexpr const char* learned_origin = "learned";

// Nothing where this Unisono has no such algorithm.
std::optional<tuning::NamedAlgorithm> named(Operation operation, const UsedAlgorithm& used) {
  tuning::NamedAlgorithm made;
  if (used.is_native()) return made;
  made.algorithm = algorithms::find_with_agents(operation, used.name);
  if (made.algorithm == nullptr) return std::nullopt;
  for (const auto& [key, value] : used.parameters) made.parameters.set(key, value);
  return made;
}

std::optional<tuning::Timed> timed(Operation operation, const LearnedCandidate& candidate) {
  auto algorithm = named(operation, candidate.algorithm);
  if (!algorithm || !std::isfinite(candidate.time_s)) return std::nullopt;
  return tuning::Timed{
      .algorithm = *std::move(algorithm),
      .time_us = candidate.time_s * us_a_second,
      .samples = static_cast<std::int64_t>(candidate.measured_calls),
      .least_us = std::isfinite(candidate.quietest_s) ? candidate.quietest_s * us_a_second : 0};
}

// The calls that the rule is for.
tuning::Conditions conditions_of(const LearnedKind& kind, const patterns::Layout& layout) {
  std::int64_t largest_node = 1;
  for (const auto& ranks : layout.ranks_of)
    largest_node = std::max(largest_node, static_cast<std::int64_t>(ranks.size()));
  const std::int64_t nodes = layout.nodes();
  tuning::Conditions when{.operation = kind.operation,
                          .bytes = {tuning::class_low(kind.size_class), tuning::class_high(kind.size_class)},
                          .nodes = {nodes, nodes},
                          .ranks_per_node = {largest_node, largest_node},
                          .is_oversubscribed = kind.is_oversubscribed,
                          .is_consecutive = layout.is_consecutive(),
                          .is_blocking = true,
                          .region = kind.region};
  if (is_reduction(kind.operation)) when.is_commutative = kind.is_commutative;
  return when;
}

// Nothing where too little was found out.
std::optional<tuning::Rule> rule_of(const LearnedKind& kind) {
  const auto layout = patterns::Layout::parse(kind.layout);
  if (kind.is_reproducible || !layout) return std::nullopt;
  tuning::Rule rule{.when = conditions_of(kind, *layout),
                    .origin = learned_origin,
                    .evidence = tuning::Evidence{.uncertainty = kind.uncertainty},
                    .note = "in " + std::to_string(kind.calls) + " calls"};
  rule.evidence->expected = named(kind.operation, kind.usual);
  bool has_chosen = false;
  for (const LearnedCandidate& candidate : kind.candidates) {
    const auto found = timed(kind.operation, candidate);
    if (!found) continue;
    if (candidate.is_chosen && !std::exchange(has_chosen, true)) {
      rule.chosen = *found;
    } else {
      rule.others.push_back(*found);
    }
  }
  std::ranges::stable_sort(rule.others, {}, &tuning::Timed::time_us);
  const bool is_compared = has_chosen && kind.is_compared_with_usual && !rule.others.empty();
  if (is_compared) rule.evidence->trust = tuning::fresh_trust;
  return rule;
}

}  // namespace

std::vector<tuning::Rule> rules_of(const std::vector<LearnedKind>& kinds) {
  std::vector<tuning::Rule> rules;
  for (const LearnedKind& kind : kinds) {
    auto rule = rule_of(kind);
    const auto is_there = [&](const tuning::Rule& other) { return other.when == rule->when; };
    if (rule && !std::ranges::any_of(rules, is_there)) rules.push_back(*std::move(rule));
  }
  return rules;
}

std::string keep_learned(const Learned& learned, const tuning::StorePlace& place, const std::string& mpi,
                         const std::string& learn) {
  const std::vector<tuning::Rule> rules = rules_of(learned.kinds);
  if ((rules.empty() && learned.leans.empty()) || place.file.empty()) return {};
  const tuning::Provenance provenance{.unisono = own_version(),
                                      .machine = tuning::machine_name(),
                                      .mpi = mpi,
                                      .command = "UNISONO_LEARN=" + learn};
  return tuning::store_rules(place, provenance, rules, learned.leans).message("what was learned");
}

}  // namespace unisono::runtime
