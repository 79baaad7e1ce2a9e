// SPDX-License-Identifier: BSD-3-Clause
// What a rule says, whether it can ever be followed, and what is wrong with it.
#include "tuning/tables/table_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "base/json_text.h"
#include "base/shown.h"
#include "tuning/decisions/size_class.h"

namespace unisono::tuning {
namespace {

using Json = TableJson;

// What is wrong with a rule, as a clause.
struct RuleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t whole_number(const Json& value, const std::string& what) {
  const bool is_small = !value.is_number_unsigned() ||
                        value.get<std::uint64_t>() <= static_cast<std::uint64_t>(Range::no_limit);
  if (!value.is_number_integer() || !is_small || value.get<std::int64_t>() < 0)
    throw RuleError(what + " takes whole numbers from 0, not " + quoted(value));
  return value.get<std::int64_t>();
}

Range range_from(const Json& value, const std::string& what) {
  if (!value.is_array() || value.size() != 2)
    throw RuleError("'" + what + "' is [first, last], not " + quoted(value));
  Range range;
  range.first = whole_number(value[0], "'" + what + "'");
  if (!value[1].is_null()) range.last = whole_number(value[1], "'" + what + "'");
  if (range.last < range.first) throw RuleError("'" + what + "' ends before it begins: " + quoted(value));
  return range;
}

std::string text_from(const Json& value, const std::string& what) {
  if (!value.is_string()) throw RuleError("'" + what + "' is a text, not " + quoted(value));
  auto text = value.get<std::string>();
  constexpr std::size_t most = 4096;
  if (text.size() > most) throw RuleError("'" + what + "' has more than " + std::to_string(most) + " bytes");
  return text;
}

bool flag_from(const Json& value, const std::string& what) {
  if (!value.is_boolean()) throw RuleError("'" + what + "' is true or false, not " + quoted(value));
  return value.get<bool>();
}

bool is_first_of(const Json& value, const std::string& what, const std::string& first,
                 const std::string& second) {
  const std::string word = text_from(value, what);
  if (word != first && word != second)
    throw RuleError("'" + what + "' is '" + first + "' or '" + second + "', not '" + word + "'");
  return word == first;
}

double time_from(const Json& value, const std::string& what) {
  if (!value.is_number() || !(value.get<double>() >= 0))
    throw RuleError("'" + what + "' takes microseconds, not " + quoted(value));
  return value.get<double>();
}

// The fields of a timed algorithm; false where `key` is none of them.
bool read_timed(const std::string& key, const Json& value, Operation operation, Timed* timed) {
  if (key == "algorithm") {
    ReadAlgorithm read = algorithm_from_text(operation, text_from(value, key));
    if (!read.problem.empty()) throw RuleError(read.problem);
    timed->algorithm = std::move(read.named);
  } else if (key == "time_us") {
    timed->time_us = time_from(value, key);
    if (timed->time_us == 0) throw RuleError("'time_us' is 0: leave it out where nothing was measured");
  } else if (key == "interval_us") {
    if (!value.is_array() || value.size() != 2)
      throw RuleError("'interval_us' is [lower, upper], not " + quoted(value));
    timed->interval_us = {time_from(value[0], key), time_from(value[1], key)};
    if (timed->interval_us->second < timed->interval_us->first)
      throw RuleError("'interval_us' ends before it begins: " + quoted(value));
  } else if (key == "samples") {
    timed->samples = whole_number(value, "'samples'");
  } else if (key == "least_us") {
    timed->least_us = time_from(value, key);
  } else {
    return false;
  }
  return true;
}

std::vector<Timed> others_from(const Json& list, Operation operation) {
  if (!list.is_array()) throw RuleError("'others' is a list, not " + quoted(list));
  std::vector<Timed> others;
  for (const Json& item : list) {
    if (!item.is_object() || !item.contains("algorithm"))
      throw RuleError("'others' holds objects with 'algorithm', not " + quoted(item));
    Timed timed;
    for (const auto& [key, value] : item.items()) {
      if (!read_timed(key, value, operation, &timed))
        throw RuleError("there is no field '" + key + "' in 'others'");
    }
    others.push_back(std::move(timed));
  }
  // The fastest first, whatever order they are written in; what has no time comes last.
  std::ranges::stable_sort(others, [](const Timed& a, const Timed& b) {
    return std::pair(a.time_us == 0, a.time_us) < std::pair(b.time_us == 0, b.time_us);
  });
  return others;
}

bool read_condition(const std::string& key, const Json& value, Conditions* when) {
  if (key == "bytes") {
    when->bytes = range_from(value, key);
  } else if (key == "nodes") {
    when->nodes = range_from(value, key);
  } else if (key == "ranks_per_node") {
    when->ranks_per_node = range_from(value, key);
  } else if (key == "oversubscribed") {
    when->is_oversubscribed = flag_from(value, key);
  } else if (key == "placement") {
    when->is_consecutive = is_first_of(value, key, "consecutive", "scattered");
  } else if (key == "operator") {
    when->is_commutative = is_first_of(value, key, "commutative", "ordered");
  } else if (key == "form") {
    when->is_blocking = is_first_of(value, key, "blocking", "non-blocking");
  } else if (key == "region") {
    when->region = text_from(value, key);
    if (when->region.empty()) throw RuleError("'region' is empty: leave it out for everywhere");
  } else if (key == "mpi") {
    when->mpi = text_from(value, key);
    if (when->mpi.empty()) throw RuleError("'mpi' is empty: leave it out for every MPI");
  } else {
    return false;
  }
  return true;
}

std::string origin_from(const Json& value) {
  std::string word = text_from(value, "origin");
  for (const char* known : {"measured", "tested", "learned", "predicted", "written"}) {
    if (word == known) return word;
  }
  throw RuleError("'origin' is measured, tested, learned, predicted or written, not '" + word + "'");
}

Evidence evidence_from(const Json& value, Operation operation) {
  if (!value.is_object()) throw RuleError("'evidence' is an object, not " + quoted(value));
  Evidence evidence;
  for (const auto& [key, part] : value.items()) {
    if (key == "trust") {
      evidence.trust = whole_number(part, "'trust'");
    } else if (key == "uncertainty") {
      if (!part.is_number() || !(part.get<double>() >= 0))
        throw RuleError("'uncertainty' is a number from 0, not " + quoted(part));
      evidence.uncertainty = part.get<double>();
    } else if (key == "expected") {
      ReadAlgorithm read = algorithm_from_text(operation, text_from(part, key));
      if (read.problem.empty()) evidence.expected = std::move(read.named);
    } else {
      throw RuleError("there is no field '" + key + "' in 'evidence'");
    }
  }
  return evidence;
}

std::string unknown_field(const std::string& key) {
  if (key == "type" || key == "element_type" || key == "datatype")
    return "it goes by '" + key + "', which ranks do not know alike (docs/guide/tables.md)";
  return "there is no field '" + key + "'";
}

Rule rule_from(const Json& json) {
  if (!json.is_object()) throw RuleError("a rule is an object, not " + quoted(json));
  for (const char* key : {"operation", "algorithm"}) {
    if (!json.contains(key)) throw RuleError("it has no '" + std::string(key) + "'");
  }
  Rule rule;
  const std::string operation = text_from(json["operation"], "operation");
  if (!operation_from_name(operation)) throw RuleError("there is no operation '" + operation + "'");
  rule.when.operation = *operation_from_name(operation);
  rule.origin = "written";
  for (const auto& [key, value] : json.items()) {
    if (key == "operation" || read_condition(key, value, &rule.when)) continue;
    if (read_timed(key, value, rule.when.operation, &rule.chosen)) continue;
    if (key == "others") {
      rule.others = others_from(value, rule.when.operation);
    } else if (key == "origin") {
      rule.origin = origin_from(value);
    } else if (key == "evidence") {
      rule.evidence = evidence_from(value, rule.when.operation);
    } else if (key == "note") {
      rule.note = text_from(value, key);
    } else if (key == "used") {
      rule.used = text_from(value, key);
    } else if (key == "jobs") {
      rule.jobs = whole_number(value, "'jobs'");
    } else if (key == "measured_bytes") {
      rule.measured_bytes = whole_number(value, "'measured_bytes'");
    } else {
      throw RuleError(unknown_field(key));
    }
  }
  return rule;
}

bool has_no_size(Operation operation) {
  return !is_decided_by_bytes(operation);
}

// Conditions that no call can meet.
std::string why_for_no_call(const Conditions& when) {
  if (has_no_size(when.operation) && !when.bytes.contains(0)) {
    return std::string(name(when.operation)) + " has no size that all ranks know: leave 'bytes' out";
  }
  if (when.nodes.last == 0 || when.ranks_per_node.last == 0)
    return "there are no communicators without ranks";
  if (when.is_commutative && !is_reduction(when.operation))
    return std::string(name(when.operation)) + " has no operator: leave 'operator' out";
  for (int c = 0; c < size_class_count; ++c) {
    if (when.bytes.contains(class_high(c))) return {};
  }
  return "no size class ends within 'bytes' (" + std::to_string(when.bytes.first) + " to " +
         std::to_string(when.bytes.last) + "): sizes are classes that end at 0, 1, 2, 4, 8, ... bytes";
}

// Conditions under all of which the algorithm is illegal.
std::string why_never_legal(const Conditions& when, const algorithms::Descriptor& descriptor) {
  const algorithms::Legality& legality = descriptor.legality;
  const auto never = [&](const std::string& needs) { return descriptor.name + " needs " + needs; };
  if (legality.needs_one_node && when.nodes.first > 1) return never("all ranks on one node");
  if (legality.needs_several_nodes && when.nodes.last < 2) return never("several nodes");
  if (legality.needs_several_nodes && when.ranks_per_node.last < 2)
    return never("a node with more than one rank");
  if (legality.needs_commutative && !when.is_commutative.value_or(true))
    return never("a commutative operator");
  if (legality.needs_consecutive && !when.is_consecutive.value_or(true))
    return never("consecutive ranks on every node");
  if (!legality.may_start() && !when.is_blocking.value_or(true))
    return descriptor.name + " waits inside, which calls that do not block must not";
  if (legality.max_bytes > 0 && when.bytes.first > legality.max_bytes)
    return descriptor.name + " takes at most " + std::to_string(legality.max_bytes) + " bytes";
  return {};
}

Json range_json(const Range& range) {
  return Json::array({range.first, range.last == Range::no_limit ? Json() : Json(range.last)});
}

}  // namespace

std::string quoted(const Json& value) {
  constexpr std::size_t most = 60;
  const std::string text = json_text(value);
  const std::string_view beginning = cut(text, most);
  return std::string(beginning) + (beginning.size() < text.size() ? "..." : "");
}

ReadRule rule_from_json(const Json& json) {
  ReadRule read;
  try {
    read.rule = rule_from(json);
    read.problem = why_for_no_call(read.rule.when);
    const algorithms::Descriptor* descriptor = read.rule.chosen.algorithm.algorithm;
    if (read.problem.empty() && descriptor != nullptr)
      read.problem = why_never_legal(read.rule.when, *descriptor);
  } catch (const RuleError& error) {
    constexpr std::size_t most = 400;
    read.problem = bounded(error.what(), most);
  }
  return read;
}

Json to_json(const Timed& timed) {
  Json json = {{"algorithm", to_text(timed.algorithm)}};
  if (timed.time_us > 0) json["time_us"] = timed.time_us;
  if (timed.interval_us) json["interval_us"] = {timed.interval_us->first, timed.interval_us->second};
  if (timed.samples > 0) json["samples"] = timed.samples;
  if (timed.least_us > 0) json["least_us"] = timed.least_us;
  return json;
}

Json to_json(const Conditions& when) {
  Json json = {{"operation", name(when.operation)}};
  if (!when.bytes.is_any()) json["bytes"] = range_json(when.bytes);
  if (!when.nodes.is_any()) json["nodes"] = range_json(when.nodes);
  if (!when.ranks_per_node.is_any()) json["ranks_per_node"] = range_json(when.ranks_per_node);
  if (when.is_oversubscribed) json["oversubscribed"] = *when.is_oversubscribed;
  if (when.is_consecutive) json["placement"] = *when.is_consecutive ? "consecutive" : "scattered";
  if (when.is_commutative) json["operator"] = *when.is_commutative ? "commutative" : "ordered";
  if (when.is_blocking) json["form"] = *when.is_blocking ? "blocking" : "non-blocking";
  if (!when.region.empty()) json["region"] = when.region;
  if (!when.mpi.empty()) json["mpi"] = when.mpi;
  return json;
}

std::string key_of(const Conditions& when) {
  return json_text(to_json(when));
}

Json to_json(const Evidence& evidence) {
  Json json = {{"trust", evidence.trust}, {"uncertainty", evidence.uncertainty}};
  if (evidence.expected) json["expected"] = to_text(*evidence.expected);
  return json;
}

Json to_json(const Rule& rule) {
  Json json = to_json(rule.when);
  json.update(to_json(rule.chosen));
  for (const Timed& other : rule.others) json["others"].push_back(to_json(other));
  if (!rule.origin.empty()) json["origin"] = rule.origin;
  if (rule.evidence) json["evidence"] = to_json(*rule.evidence);
  if (rule.measured_bytes) json["measured_bytes"] = *rule.measured_bytes;
  if (!rule.note.empty()) json["note"] = rule.note;
  if (!rule.used.empty()) json["used"] = rule.used;
  if (rule.jobs > 0) json["jobs"] = rule.jobs;
  return json;
}

Json to_json(const Provenance& provenance) {
  Json json = Json::object();
  for (const auto& [key, value] :
       {std::pair{"unisono", &provenance.unisono}, std::pair{"machine", &provenance.machine},
        std::pair{"mpi", &provenance.mpi}, std::pair{"date", &provenance.date},
        std::pair{"command", &provenance.command}}) {
    if (!value->empty()) json[key] = *value;
  }
  return json;
}

}  // namespace unisono::tuning
