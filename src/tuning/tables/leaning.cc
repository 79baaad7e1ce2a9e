// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/leaning.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/json_text.h"

namespace unisono::tuning {
namespace {

using Json = TableJson;

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

void write_range(WireWriter* writer, const Range& range) {
  writer->integer(range.first);
  writer->integer(range.last);
}

Range read_range(WireReader* reader) {
  const std::int64_t first = reader->integer();
  return {first, reader->between(first, Range::no_limit)};
}

// One of three: it does not matter, it must not be, it must be.
void write_choice(WireWriter* writer, const std::optional<bool>& choice) {
  writer->integer(choice ? (*choice ? 2 : 1) : 0);
}

std::optional<bool> read_choice(WireReader* reader) {
  const std::int64_t choice = reader->between(0, 2);
  return choice == 0 ? std::nullopt : std::optional(choice == 2);
}

void write_conditions(WireWriter* writer, const Conditions& when) {
  writer->integer(static_cast<int>(when.operation));
  for (const Range* range : {&when.bytes, &when.nodes, &when.ranks_per_node}) write_range(writer, *range);
  for (const auto* choice :
       {&when.is_oversubscribed, &when.is_consecutive, &when.is_commutative, &when.is_blocking})
    write_choice(writer, *choice);
  writer->text(when.region);
  writer->text(when.mpi);
}

Conditions read_conditions(WireReader* reader) {
  Conditions when{.operation = reader->one_of<Operation>(operation_count)};
  for (Range* range : {&when.bytes, &when.nodes, &when.ranks_per_node}) *range = read_range(reader);
  for (auto* choice :
       {&when.is_oversubscribed, &when.is_consecutive, &when.is_commutative, &when.is_blocking})
    *choice = read_choice(reader);
  when.region = reader->text();
  when.mpi = reader->text();
  return when;
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

void write(WireWriter* writer, const Lean& lean) {
  writer->text(lean.file);
  writer->integer(lean.number);
  writer->integer(static_cast<int>(lean.confirmation));
  write_conditions(writer, lean.when);
}

Lean read_lean(WireReader* reader) {
  Lean lean{.file = reader->text(),
            .number = static_cast<int>(reader->between(1, std::numeric_limits<int>::max()))};
  lean.confirmation = reader->one_of<Confirmation>(static_cast<int>(Confirmation::confirmed) + 1);
  lean.when = read_conditions(reader);
  return lean;
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
