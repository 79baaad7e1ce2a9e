// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/report_learning.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

// Null: nothing is known.
Json time_json(double seconds) {
  return seconds == tuning::unknown_s ? Json() : Json(seconds);
}

Json candidate_json(const LearnedClass& learned, std::size_t k) {
  const tuning::Learner& learner = learned.learner;
  const tuning::Choice& choice = *learned.blocking[k].choice;
  return {{"algorithm", std::string(choice.name())},
          {"parameters", parameter_json(parameter_text(choice.parameters))},
          {"calls", learned.blocking[k].calls},
          {"measured_calls", learner.measured_calls(static_cast<int>(k))},
          {"time_s", time_json(learner.policy().time_s(static_cast<int>(k)))},
          {"quietest_s", time_json(learner.policy().quietest_s(static_cast<int>(k)))}};
}

// Does this job know that the choice is faster than what would be used without learning?
bool is_compared(const tuning::Policy& policy, int usual) {
  return policy.is_measured(usual) && policy.is_measured(policy.chosen());
}

std::string time_text(const Json& seconds) {
  if (seconds.is_null()) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f us", seconds.get<double>() * 1e6);
  return text;
}

}  // namespace

std::string shape_of(const Communicator& c) {
  return c.layout ? c.layout->describe() : std::to_string(c.size) + (c.size == 1 ? " rank" : " ranks");
}

std::string parameter_text(const algorithms::Parameters& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters.values())
    text += (text.empty() ? "" : " ") + key + "=" + std::to_string(value);
  return text;
}

Json parameter_json(const std::string& text) {
  Json object = Json::object();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    object[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  return object;
}

Json learning_json(const Communicator& c, Operation operation, int size_class, const LearnedClass& learned) {
  const tuning::Learner& learner = learned.learner;
  const tuning::Policy& policy = learner.policy();
  const auto chosen = static_cast<std::size_t>(policy.chosen());
  const auto name_of = [&](std::size_t k) { return std::string(learned.blocking[k].choice->name()); };
  Json out = {{"communicator", c.id},
              {"shape", shape_of(c)},
              {"layout", c.layout->text()},
              {"oversubscribed", c.is_oversubscribed},
              {"reproducible", c.is_reproducible},
              {"commutative", learned.is_commutative},
              {"operation", std::string(name(operation))},
              {"size_class", tuning::class_label(size_class)},
              {"bytes_low", tuning::class_low(size_class)},
              {"bytes_high", tuning::class_high(size_class)},
              {"region", learned.region},
              {"compared", learner.is_mean()      ? "mean"
                           : learner.is_longest() ? "longest"
                                                  : "shortest"},
              {"calls", learned.calls()},
              {"agreements", learner.agreements()},
              {"chosen", name_of(chosen)},
              {"time_s", time_json(policy.time_s(policy.chosen()))},
              {"usual", learned.blocking[learned.usual].choice->text()},
              {"compared_with_usual", is_compared(policy, static_cast<int>(learned.usual))},
              {"uncertainty", std::max(policy.uncertainty(policy.chosen()),
                                       policy.uncertainty(static_cast<int>(learned.usual)))},
              {"trial_loss_s", learner.trial_loss_s()},
              {"measuring_overhead_s", learner.measuring_overhead_s()},
              {"monitoring_overhead_s", learner.monitoring_overhead_s()},
              {"candidates", Json::array()},
              {"untried", Json::array()},
              {"timeline", Json::array()}};
  for (std::size_t k = 0; k < learned.blocking.size(); ++k) {
    if (learned.blocking[k].calls != 0) {
      out["candidates"].push_back(candidate_json(learned, k));
    } else {
      out["untried"].push_back(name_of(k));
    }
  }
  for (const tuning::Event& event : learner.events()) {
    out["timeline"].push_back({{"call", event.call},
                               {"algorithm", name_of(static_cast<std::size_t>(event.candidate))},
                               {"trial", event.is_trial},
                               {"why", event.why}});
  }
  return out;
}

void keep_most_important(std::vector<Json>* learned) {
  const auto spent_s = [](const Json& of) {
    return of["time_s"].is_null() ? 0.0 : of["time_s"].get<double>() * of["calls"].get<double>();
  };
  std::ranges::stable_sort(*learned, std::greater<>(), spent_s);
  if (learned->size() > most_learned) learned->resize(most_learned);
}

std::vector<Json> learned_in(const std::vector<std::string>& texts) {
  std::vector<Json> learned;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    const Json of_rank = Json::parse(text);
    for (const Json& entry : of_rank["learning"]) learned.push_back(entry);
  }
  keep_most_important(&learned);
  return learned;
}

std::vector<tuning::Lean> leans_in(const std::vector<std::string>& texts) {
  tuning::Leans leans;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    tuning::add_from_json(Json::parse(text)["leans"], &leans);
  }
  return leans.list();
}

tuning::Confirmation confirmation_of(const LearnedClass& learned) {
  const tuning::Policy& policy = learned.learner.policy();
  // Where results must be reproducible what kept rules compared with may not run.
  if (learned.kind.is_reproducible || !is_compared(policy, static_cast<int>(learned.usual)))
    return tuning::Confirmation::none;
  const tuning::Choice& chosen = *learned.blocking[static_cast<std::size_t>(policy.chosen())].choice;
  return tuning::is_same({chosen.algorithm, chosen.parameters}, learned.told)
             ? tuning::Confirmation::confirmed
             : tuning::Confirmation::contradicted;
}

std::string learning_line(const Json& learned) {
  std::ostringstream out;
  const auto region = learned["region"].get<std::string>();
  out << learned["operation"].get<std::string>() << ' ' << learned["size_class"].get<std::string>() << ", "
      << learned["shape"].get<std::string>() << (region.empty() ? "" : ", region " + region) << ": "
      << learned["chosen"].get<std::string>() << ' ' << time_text(learned["time_s"]);
  for (const Json& candidate : learned["candidates"]) {
    if (candidate["algorithm"] == learned["chosen"]) continue;
    out << "; " << candidate["algorithm"].get<std::string>() << ' ' << time_text(candidate["time_s"]);
  }
  return out.str();
}

}  // namespace unisono::runtime
