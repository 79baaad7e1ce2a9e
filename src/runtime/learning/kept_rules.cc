// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/kept_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/reports/report_learning.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table_files.h"

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double us_a_second = 1e6;
constexpr const char* learned_origin = "learned";

std::optional<tuning::Timed> timed(Operation operation, const Json& candidate) {
  if (candidate["time_s"].is_null()) return std::nullopt;
  tuning::Timed made{.time_us = candidate["time_s"].get<double>() * us_a_second,
                     .samples = candidate["measured_calls"],
                     .least_us = candidate["quietest_s"].is_null()
                                     ? 0
                                     : candidate["quietest_s"].get<double>() * us_a_second};
  const auto name = candidate["algorithm"].get<std::string>();
  if (name != "native") {
    made.algorithm.algorithm = algorithms::find(operation, name);
    if (made.algorithm.algorithm == nullptr) return std::nullopt;
    for (const auto& [key, value] : candidate["parameters"].items())
      made.algorithm.parameters.set(key, value.get<std::int64_t>());
  }
  return made;
}

// The calls that the rule is for.
tuning::Conditions conditions_of(const Json& learned, const patterns::Layout& layout) {
  const Operation operation = *operation_from_name(learned["operation"].get<std::string>());
  std::int64_t largest_node = 1;
  for (const auto& ranks : layout.ranks_of)
    largest_node = std::max(largest_node, static_cast<std::int64_t>(ranks.size()));
  const std::int64_t nodes = layout.nodes();
  tuning::Conditions when{.operation = operation,
                          .bytes = {learned["bytes_low"], learned["bytes_high"]},
                          .nodes = {nodes, nodes},
                          .ranks_per_node = {largest_node, largest_node},
                          .is_oversubscribed = learned["oversubscribed"].get<bool>(),
                          .is_consecutive = layout.is_consecutive(),
                          .is_blocking = true,
                          .region = learned["region"]};
  if (is_reduction(operation)) when.is_commutative = learned["commutative"].get<bool>();
  return when;
}

// Of one kind of calls as the report has it; nothing where too little was found out.
std::optional<tuning::Rule> rule_of(const Json& learned) {
  const auto layout = patterns::Layout::parse(learned["layout"].get<std::string>());
  if (learned["reproducible"].get<bool>() || !layout) return std::nullopt;
  tuning::Rule rule{.when = conditions_of(learned, *layout),
                    .origin = learned_origin,
                    .evidence = tuning::Evidence{.uncertainty = learned["uncertainty"]},
                    .note = "in " + std::to_string(learned["calls"].get<std::uint64_t>()) + " calls"};
  const auto usual = tuning::algorithm_from_text(rule.when.operation, learned["usual"].get<std::string>());
  if (usual.problem.empty()) rule.evidence->expected = usual.named;
  bool has_chosen = false;
  for (const Json& candidate : learned["candidates"]) {
    const auto found = timed(rule.when.operation, candidate);
    if (!found) continue;
    const bool is_chosen = !has_chosen && candidate["algorithm"] == learned["chosen"] &&
                           candidate["time_s"] == learned["time_s"];
    has_chosen = has_chosen || is_chosen;
    if (is_chosen) {
      rule.chosen = *found;
    } else {
      rule.others.push_back(*found);
    }
  }
  std::ranges::stable_sort(rule.others, {}, &tuning::Timed::time_us);
  const bool is_compared = has_chosen && learned["compared_with_usual"].get<bool>() && !rule.others.empty();
  if (is_compared) rule.evidence->trust = tuning::fresh_trust;
  return rule;
}

}  // namespace

void keep_learned(const World& world, const std::vector<std::string>& texts) {
  std::vector<tuning::Rule> rules;
  for (const Json& learned : learned_in(texts)) {
    const auto rule = rule_of(learned);
    const auto is_there = [&](const tuning::Rule& other) { return other.when == rule->when; };
    // Of several communicators alike the one counts that took most time: it comes first.
    if (rule && !std::ranges::any_of(rules, is_there)) rules.push_back(*rule);
  }
  const std::vector<tuning::Lean> leans = leans_in(texts);
  const tuning::StorePlace place = store_place(world);
  if ((rules.empty() && leans.empty()) || place.file.empty()) return;
  const tuning::Provenance provenance{.unisono = UNISONO_VERSION,
                                      .machine = tuning::machine_name(),
                                      .mpi = world.host.library_name(),
                                      .command = "UNISONO_LEARN=" + world.options.learn};
  const std::string message =
      tuning::store_rules(place, provenance, rules, leans).message("what was learned");
  if (!message.empty()) log::warning(message);
}

}  // namespace unisono::runtime
