// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/leaning.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/json_text.h"

namespace unisono::tuning {
namespace {

using Json = TableJson;

// For the same calls where these are equal.
std::string key_of(const Conditions& when) {
  return json_text(to_json(when));
}

bool is_for(const Json& rule, const std::string& key) {
  const ReadRule read = rule_from_json(rule);
  return read.problem.empty() && key_of(read.rule.when) == key;
}

// Another job may have written the file since: then the rule has another place.
Json* find(Json* stored, const Lean& lean) {
  const std::string key = key_of(lean.when);
  const auto place = static_cast<std::size_t>(lean.number) - 1;
  if (place < stored->size() && is_for((*stored)[place], key)) return &(*stored)[place];
  const auto found = std::ranges::find_if(*stored, [&](const Json& rule) { return is_for(rule, key); });
  return found == stored->end() ? nullptr : &*found;
}

}  // namespace

void Leans::add(const std::vector<LeanedOn>& rules, Confirmation confirmation) {
  for (const LeanedOn& of : rules) {
    add({.file = of.file->substr(of.file->rfind('/') + 1),
         .number = of.rule->number,
         .when = of.rule->when,
         .confirmation =
             of.is_near && confirmation == Confirmation::contradicted ? Confirmation::none : confirmation});
  }
}

void Leans::add(const Lean& lean) {
  Lean& known = leans_.try_emplace({lean.file, lean.number}, lean).first->second;
  known.confirmation = std::max(known.confirmation, lean.confirmation);
}

std::vector<Lean> Leans::list() const {
  std::vector<Lean> list;
  for (const auto& [place, lean] : leans_) list.push_back(lean);
  return list;
}

Json to_json(const std::vector<Lean>& leans) {
  Json list = Json::array();
  for (const Lean& lean : leans) {
    // As a rule, which is what can be read.
    Json when = to_json(lean.when);
    when["algorithm"] = "native";
    list.push_back({{"file", lean.file},
                    {"number", lean.number},
                    {"confirmation", static_cast<int>(lean.confirmation)},
                    {"when", std::move(when)}});
  }
  return list;
}

void add_from_json(const Json& json, Leans* leans) {
  for (const Json& lean : json) {
    ReadRule read = rule_from_json(lean["when"]);
    if (!read.problem.empty()) continue;
    leans->add({.file = lean["file"],
                .number = lean["number"],
                .when = std::move(read.rule.when),
                .confirmation = static_cast<Confirmation>(lean["confirmation"].get<int>())});
  }
}

bool doubt(Json* stored, const std::vector<Lean>& leans, const std::string& today) {
  bool has_changed = false;
  for (const Lean& lean : leans) {
    if (lean.confirmation == Confirmation::confirmed) continue;
    Json* rule = find(stored, lean);
    if (rule == nullptr) continue;
    Rule read = rule_from_json(*rule).rule;
    if (!read.evidence || read.evidence->trust == 0) continue;
    read.evidence->trust = trust_after(read.evidence->trust, lean.confirmation);
    (*rule)["evidence"] = to_json(*read.evidence);
    (*rule)["used"] = today;
    has_changed = true;
  }
  return has_changed;
}

}  // namespace unisono::tuning
