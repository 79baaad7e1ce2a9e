// SPDX-License-Identifier: BSD-3-Clause
// Options of a run as somebody has given them, before there is a job: what a job would only warn of.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agents/served.h"
#include "base/files.h"
#include "base/near_names.h"
#include "base/options.h"
#include "model/machine.h"
#include "patterns/layout.h"
#include "patterns/layout_text.h"
#include "patterns/topology.h"
#include "tool/commands.h"
#include "tool/question.h"
#include "tuning/decisions/decision.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_files.h"

namespace unisono::tool {
namespace {

using Problems = std::vector<std::string>;

Problems of_algorithms(const std::string& value) {
  Problems problems;
  tuning::make_forced(value, &problems);
  return problems;
}

// Of option `agents_algorithm`: all that it names is of use to agents.
Problems of_algorithms_between_agents(const std::string& value) {
  Problems problems;
  const auto chooser = tuning::make_forced(value, &problems);
  const bool is_for_all = value.find("all:") != std::string::npos;
  for (int op = 0; op < operation_count; ++op) {
    tuning::Question question;
    question.problem.operation = static_cast<Operation>(op);
    const std::string operation(name(question.problem.operation));
    for (const tuning::Choice& choice : chooser->candidates(question)) {
      if (!agents::is_served(question.problem.operation)) {
        if (!is_for_all)
          problems.push_back(operation + ":" + choice.text() + ": agents make no " + operation);
      } else if (choice.algorithm != nullptr && choice.algorithm->engine == algorithms::Engine::agents) {
        problems.push_back(operation + ":" + choice.text() + ": agents themselves run no 'agents'");
      }
    }
  }
  return problems;
}

Problems of_tables(const std::string& value) {
  Problems problems;
  for (const std::string& file : tuning::split_at_colons(value)) {
    const std::string problem = tuning::table_from_file(file).problem;
    if (!problem.empty()) problems.push_back(problem);
  }
  return problems;
}

Problems of_site_table(const std::string& value) {
  const bool is_word = value == "auto" || value == "none" || value == "off";
  return is_word ? Problems() : of_tables(value);
}

Problems of_machine(const std::string& value) {
  if (value.empty() || value == "none" || model::find_built_in(value) != nullptr) return {};
  const ReadFile file = read_file(value);
  if (!file.text && file.problem.rfind("cannot", 0) != 0) return {"it " + file.problem};
  if (!file.text) return {"there is no such file, and no such machine, built in or measured here"};
  const model::ReadMachine read = model::machine_from_json(*file.text);
  return read.machine ? Problems() : Problems{"it cannot be used: " + read.problem};
}

Problems of_nodes(const std::string& value) {
  if (value.empty() || patterns::Layout::parse(value)) return {};
  return {"it " + patterns::why_no_layout(value)};
}

Problems of_domains(const std::string& value) {
  if (value == "auto" || value == "on" || value == "off" || patterns::parse_node(value)) return {};
  return {"it " + patterns::why_no_node(value) + "; or auto, on, off"};
}

Problems of_topology(const std::string& value) {
  if (value.empty()) return {};
  if (patterns::is_synthetic(value)) {
    const patterns::ReadTopology read = patterns::synthetic_topology(value);
    return read.topology ? Problems() : Problems{read.problem};
  }
  const ReadFile file = read_file(value, patterns::most_topology_bytes);
  if (!file.text) return {value + " " + file.problem + "; a topology without a file is written tree:4x8"};
  const patterns::ReadTopology read = patterns::topology_from_lines(*file.text, value);
  return read.topology ? Problems() : Problems{read.problem};
}

// Its folder must be there, as far as that can be seen from here.
Problems of_record(const std::string& value) {
  if (value.empty()) return {};
  const std::string problem = why_not_replaced(value);
  if (!problem.empty()) return {value + " " + problem};
  const std::string folder =
      value.find('/') == std::string::npos ? "." : value.substr(0, value.rfind('/') + 1);
  if (::access(folder.c_str(), F_OK) != 0) return {value + ": there is no folder " + folder};
  if (::access(folder.c_str(), W_OK) != 0)
    return {value + ": the folder " + folder + " cannot be written to"};
  return {};
}

Problems problems_of(const OptionSpec& spec, const std::string& value) {
  Options options;
  if (std::string problem = spec.set(options, value); !problem.empty()) return {"it " + problem};
  if (spec.name == "algorithm") return of_algorithms(value);
  if (spec.name == "agents_algorithm") return of_algorithms_between_agents(value);
  if (spec.name == "table") return of_tables(value);
  if (spec.name == "site_table") return of_site_table(value);
  if (spec.name == "machine") return of_machine(value);
  if (spec.name == "nodes") return of_nodes(value);
  if (spec.name == "domains") return of_domains(value);
  if (spec.name == "topology") return of_topology(value);
  if (spec.name == "record_messages") return of_record(value);
  return {};
}

const OptionSpec& option_named(const std::string& name) {
  for (const OptionSpec& spec : option_list()) {
    if (spec.name == name) return spec;
  }
  std::vector<std::string> names;
  for (const OptionSpec& spec : option_list()) names.emplace_back(spec.name);
  throw UsageError("there is no option '" + name + "'" + did_you_mean(name, names));
}

}  // namespace

int judge_settings(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"set"}, {});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& setting : arguments.all("set")) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) throw UsageError("--set takes NAME=VALUE, not '" + setting + "'");
    const OptionSpec& spec = option_named(setting.substr(0, equals));
    const std::string value = with_home(spec, setting.substr(equals + 1), Environment::of_process());
    for (const std::string& problem : problems_of(spec, value))
      list.push_back({{"name", spec.name}, {"problem", problem}});
  }
  std::puts(list.dump(1, ' ', true, nlohmann::ordered_json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
