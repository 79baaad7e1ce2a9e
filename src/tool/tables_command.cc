// SPDX-License-Identifier: BSD-3-Clause
// Tables as they are read: rules in full, and why others are disabled.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool/commands.h"
#include "tool/question.h"
#include "tuning/tables/table_json.h"

namespace unisono::tool {
namespace {

using tuning::TableJson;

TableJson to_json(const std::string& file) {
  const tuning::ReadTable read = tuning::table_from_file(file);
  TableJson rules = TableJson::array(), disabled = TableJson::array();
  for (const tuning::Rule& rule : read.table.rules) {
    rules.push_back({{"number", rule.number}, {"rule", tuning::to_json(rule)}});
  }
  for (const tuning::DisabledRule& rule : read.table.disabled) {
    disabled.push_back({{"number", rule.number}, {"problem", rule.why}});
  }
  return {{"file", file},
          {"problem", read.problem},
          {"provenance", tuning::to_json(read.table.provenance)},
          {"rules", std::move(rules)},
          {"disabled", std::move(disabled)}};
}

}  // namespace

int read_tables(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"file"}, {});
  if (!arguments.has("file")) throw UsageError("say which: --file");
  TableJson tables = TableJson::array();
  for (const std::string& file : arguments.all("file")) tables.push_back(to_json(file));
  std::puts(tables.dump(1, ' ', true, TableJson::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
