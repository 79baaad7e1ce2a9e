// SPDX-License-Identifier: BSD-3-Clause
// Rules as they stand in files, for who writes tables or prints them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tuning/tables/table.h"

namespace unisono::tuning {

using TableJson = nlohmann::ordered_json;

inline constexpr const char* table_schema = "unisono-table";
inline constexpr int table_version = 1;

// `problem` says why the rule cannot be used; empty: it can.
struct ReadRule {
  Rule rule;
  std::string problem;
};
ReadRule rule_from_json(const TableJson& json);

// A value as messages show it, cut where it is long.
std::string quoted(const TableJson& value);

TableJson to_json(const Conditions& when);
TableJson to_json(const Timed& timed);
TableJson to_json(const Evidence& evidence);
TableJson to_json(const Rule& rule);
TableJson to_json(const Provenance& provenance);

// Two rules are for the same calls where their keys are equal.
std::string key_of(const Conditions& when);

}  // namespace unisono::tuning
