// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned is kept for the next one, as rules in the user's cache (A10). What earlier jobs have
// learned, or a table's measurements, is where learning begins.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "runtime/job.h"
#include "runtime/report_learning.h"
#include "tuning/table_files.h"

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double us_a_second = 1e6;
constexpr const char* learned_origin = "learned";

std::optional<tuning::Timed> timed(Operation operation, const Json& candidate) {
  if (candidate["time_s"].is_null()) return std::nullopt;
  tuning::Timed made{.time_us = candidate["time_s"].get<double>() * us_a_second,
                     .samples = candidate["measured_calls"]};
  const auto name = candidate["algorithm"].get<std::string>();
  if (name != "native") {
    made.algorithm.algorithm = algorithms::find(operation, name);
    if (made.algorithm.algorithm == nullptr) return std::nullopt;
    for (const auto& [key, value] : candidate["parameters"].items())
      made.algorithm.parameters.set(key, value.get<std::int64_t>());
  }
  return made;
}

// Of one kind of calls as the report has it; nothing where too little was found out.
std::optional<tuning::Rule> rule_of(const Json& learned) {
  const Operation operation = *operation_from_name(learned["operation"].get<std::string>());
  const auto layout = patterns::Layout::parse(learned["layout"].get<std::string>());
  if (learned["reproducible"].get<bool>() || learned["time_s"].is_null() || !layout) return std::nullopt;
  std::int64_t largest_node = 1;
  for (const auto& ranks : layout->ranks_of)
    largest_node = std::max(largest_node, static_cast<std::int64_t>(ranks.size()));
  const std::int64_t nodes = layout->nodes();
  tuning::Rule rule{.when = {.operation = operation,
                             .bytes = {learned["bytes_low"], learned["bytes_high"]},
                             .nodes = {nodes, nodes},
                             .ranks_per_node = {largest_node, largest_node},
                             .is_oversubscribed = learned["oversubscribed"].get<bool>(),
                             .is_blocking = true,
                             .region = learned["region"]},
                    .origin = learned_origin,
                    .note = "in " + std::to_string(learned["calls"].get<std::uint64_t>()) + " calls"};
  if (is_reduction(operation)) rule.when.is_commutative = learned["commutative"].get<bool>();
  bool has_chosen = false;
  for (const Json& candidate : learned["candidates"]) {
    const auto found = timed(operation, candidate);
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
  // One that was compared with nothing says nothing.
  return has_chosen && !rule.others.empty() ? std::optional(rule) : std::nullopt;
}

}  // namespace

void Job::keep_learned(const std::vector<std::string>& texts) {
  std::vector<tuning::Rule> rules;
  for (const Json& learned : learned_in(texts)) {
    const auto rule = rule_of(learned);
    const auto is_there = [&](const tuning::Rule& other) { return other.when == rule->when; };
    // Of several communicators alike the one counts that took most time: it comes first.
    if (rule && !std::ranges::any_of(rules, is_there)) rules.push_back(*rule);
  }
  const tuning::StorePlace place = store_place();
  if (rules.empty() || place.file.empty()) return;
  const tuning::Provenance provenance{.unisono = UNISONO_VERSION,
                                      .machine = tuning::machine_name(),
                                      .mpi = host_.library_name(),
                                      .command = "UNISONO_LEARN=" + options_.learn};
  const std::string message = tuning::store_rules(place, provenance, rules).message("what was learned");
  if (!message.empty()) log::warning(message);
}

// Times of the candidates from the first rule for just these calls that has any: one that was learned inside
// a program, whatever decides without learning, before those that were measured elsewhere.
void Job::add_known_times(const tuning::Question& question, tuning::CandidateList* list) {
  if (!known_rules_) return;
  const auto matches = known_rules_->matches(question);
  const auto first = [&](bool is_learned) {
    return std::ranges::find_if(matches, [&](const tuning::TableRules::Match& match) {
      return !match.is_near && match.rule->chosen.time_us > 0 &&
             (match.rule->origin == learned_origin) == is_learned;
    });
  };
  auto found = first(true);
  const bool is_learned = found != matches.end();
  if (!is_learned) found = first(false);
  if (found == matches.end()) return;
  const std::string chosen_by =
      is_learned ? "learned by an earlier job" : "measured before: " + tuning::where_from(*found, question);
  std::vector<tuning::Timed> known = found->rule->others;
  known.push_back(found->rule->chosen);
  for (std::size_t k = 0; k < list->choices.size(); ++k) {
    const tuning::Choice& choice = list->choices[k];
    for (std::size_t i = 0; i < known.size(); ++i) {
      const tuning::Timed& timed = known[i];
      const bool is_same =
          timed.algorithm.algorithm == choice.algorithm &&
          (choice.algorithm == nullptr ||
           algorithms::with_standards(*choice.algorithm, timed.algorithm.parameters) == choice.parameters);
      if (!is_same) continue;
      list->candidates[k].known_s = timed.time_us / us_a_second;
      if (i + 1 == known.size()) list->candidates[k].chosen_by = chosen_by;
    }
  }
}

}  // namespace unisono::runtime
