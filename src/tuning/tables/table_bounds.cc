// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/table_bounds.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/json_text.h"
#include "tuning/tables/knowledge.h"

namespace unisono::tuning {
namespace {

using Json = TableJson;

std::string used_of(const Json& rule) {
  const auto found = rule.is_object() ? rule.find("used") : rule.end();
  return found != rule.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t jobs_of(const Json& rule) {
  const auto found = rule.is_object() ? rule.find("jobs") : rule.end();
  if (found == rule.end() || !found->is_number_integer()) return 0;
  // What does not fit is of no use: it counts as least.
  const auto jobs = found->get<std::int64_t>();
  return jobs > 0 && jobs < Range::no_limit ? jobs : 0;
}

// Leaves the `most` rules that were used last, and most, among those that `is_counted`; in their order.
template <typename Counted>
void keep_most_used(Json* stored, std::size_t most, const Counted& is_counted) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < stored->size(); ++i) {
    if (is_counted((*stored)[i])) order.push_back(i);
  }
  if (order.size() <= most) return;
  // Of equals the later one is the newer one.
  std::ranges::sort(order, std::greater<>(), [&](std::size_t i) {
    return std::tuple(used_of((*stored)[i]), jobs_of((*stored)[i]), i);
  });
  std::vector<bool> goes(stored->size());
  for (std::size_t k = most; k < order.size(); ++k) goes[order[k]] = true;
  Json kept = Json::array();
  for (std::size_t i = 0; i < stored->size(); ++i) {
    if (!goes[i]) kept.push_back(std::move((*stored)[i]));
  }
  *stored = std::move(kept);
}

}  // namespace

void merge_into(Json* stored, const std::vector<Rule>& rules, const std::string& today) {
  struct Place {
    std::optional<std::size_t> index;
    std::optional<Rule> rule;  // what is there
  };
  std::unordered_map<std::string, Place> places;
  for (std::size_t i = 0; i < stored->size(); ++i) {
    ReadRule read = rule_from_json((*stored)[i]);
    if (!read.problem.empty()) continue;
    std::string key = key_of(read.rule.when);
    places.emplace(std::move(key), Place{i, std::move(read.rule)});
  }
  for (const Rule& rule : rules) {
    auto& place = places.try_emplace(key_of(rule.when)).first->second;
    std::optional<Rule> kept = merged(place.rule ? &*place.rule : nullptr, rule);
    if (!kept) continue;
    Json made = to_json(*kept);
    made["used"] = today;
    made["jobs"] = place.index ? std::min(jobs_of((*stored)[*place.index]), Range::no_limit - 1) + 1 : 1;
    if (place.index) {
      (*stored)[*place.index] = std::move(made);
    } else {
      place.index = stored->size();
      stored->push_back(std::move(made));
    }
    place.rule = std::move(kept);
  }
}

void keep_within_bounds(Json* stored) {
  keep_most_used(stored, most_region_rules,
                 [](const Json& rule) { return rule.is_object() && rule.contains("region"); });
  keep_most_used(stored, most_stored_rules, [](const Json&) { return true; });
}

void remove_oldest_tables(const OwnFolder& folder, const std::string& own) {
  std::vector<OwnFolder::Entry> tables;
  for (OwnFolder::Entry& entry : folder.files()) {
    if (entry.name.ends_with(".json") && entry.name != own) tables.push_back(std::move(entry));
  }
  if (tables.size() < most_stored_files) return;
  std::ranges::sort(tables, {}, [](const OwnFolder::Entry& entry) {
    return std::pair(entry.changed.tv_sec, entry.changed.tv_nsec);
  });
  tables.resize(tables.size() - (most_stored_files - 1));
  for (const OwnFolder::Entry& entry : tables) folder.remove(entry.name);
}

}  // namespace unisono::tuning
