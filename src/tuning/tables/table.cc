// SPDX-License-Identifier: BSD-3-Clause
// Reading tables.
#include "tuning/tables/table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "base/files.h"
#include "base/json_text.h"
#include "base/shown.h"
#include "tuning/decisions/size_class.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {
namespace {

using Json = TableJson;

constexpr std::size_t most_warnings = 10;  // of one file

// What is wrong with a file, as a clause.
struct TableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws TableError where the file as a whole is no table.
Table table_from(const Json& json, const std::string& file) {
  if (!json.is_object() || json.value("schema", Json()) != table_schema)
    throw TableError("its 'schema' is not '" + std::string(table_schema) + "'");
  if (const Json version = json.value("version", Json()); version != table_version) {
    throw TableError("it has version " + quoted(version) + ", this Unisono reads version " +
                     std::to_string(table_version));
  }
  for (const auto& [key, value] : json.items()) {
    if (key != "schema" && key != "version" && key != "provenance" && key != "rules")
      throw TableError("there is no field '" + key + "' beside 'rules'");
  }
  if (!json.contains("rules") || !json["rules"].is_array()) throw TableError("it has no list 'rules'");
  Table table{.file = file};
  const Json provenance = json.value("provenance", Json::object());
  if (!provenance.is_object()) throw TableError("'provenance' is an object, not " + quoted(provenance));
  for (const auto& [key, member] :
       {std::pair{"unisono", &Provenance::unisono}, std::pair{"machine", &Provenance::machine},
        std::pair{"mpi", &Provenance::mpi}, std::pair{"date", &Provenance::date},
        std::pair{"command", &Provenance::command}}) {
    if (const Json value = provenance.value(key, Json()); value.is_string())
      table.provenance.*member = value.get<std::string>();
  }
  int number = 0;
  for (const Json& item : json["rules"]) {
    ReadRule read = rule_from_json(item);
    read.rule.number = ++number;
    if (read.problem.empty()) {
      table.rules.push_back(std::move(read.rule));
    } else {
      table.disabled.push_back({number, std::move(read.problem)});
    }
  }
  return table;
}

}  // namespace

ReadTable table_from_text(std::string_view text, const std::string& file) {
  const ReadJson read = json_from(text);
  if (!read.problem.empty()) return {{}, file + " " + read.problem};
  try {
    return {table_from(read.json, file), {}};
  } catch (const Json::exception&) {
    return {{}, file + " is no table: a field holds what does not belong there"};
  } catch (const TableError& error) {
    return {{}, file + " is no table: " + error.what()};
  }
}

std::string read_table_file(const std::string& file, std::string* text) {
  ReadFile read = read_file(file);
  if (!read.text) {
    if (read.problem.rfind("has", 0) == 0) return file + " is no table: it " + read.problem;
    return file + " " + read.problem + (read.problem.rfind("is", 0) == 0 ? ", not a table" : "");
  }
  *text = *std::move(read.text);
  return {};
}

ReadTable table_from_file(const std::string& file) {
  std::string text;
  std::string problem = read_table_file(file, &text);
  return problem.empty() ? table_from_text(text, file) : ReadTable{{}, std::move(problem)};
}

std::vector<std::string> Table::warnings() const {
  std::vector<std::string> lines;
  for (const DisabledRule& rule : disabled) {
    if (lines.size() == most_warnings) {
      lines.push_back("table " + file + ": " + std::to_string(disabled.size() - most_warnings) +
                      " more rules are disabled; 'unisono table check' names them");
      break;
    }
    lines.push_back("table " + file + ": rule " + std::to_string(rule.number) + " is disabled: " + rule.why);
  }
  return lines;
}

}  // namespace unisono::tuning
