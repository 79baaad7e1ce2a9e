// SPDX-License-Identifier: BSD-3-Clause
#include "front/settings.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/agent_places.h"
#include "base/environment.h"
#include "base/own_folder.h"
#include "launch/capture.h"
#include "launch/errors.h"
#include "launch/job_hosts.h"
#include "patterns/layout.h"

namespace unisono::front {
namespace {

using namespace std::chrono_literals;
using launch::UsageError;

// What the command itself settles.
constexpr std::string_view ours[] = {"UNISONO_HOME", "UNISONO_LIBRARY", agents_job_variable,
                                     agents_left_out_variable};
constexpr auto longest_judgement = 60s;
// What only the tool can judge, which knows algorithms, tables and machines.
constexpr std::string_view judged_by_tool[] = {
    "algorithm", "agents_algorithm", "table", "site_table", "machine", "nodes", "domains", "topology"};

bool is_file(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed);
}

void require_own(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const std::string why = why_not_own(status);
  if (!why.empty()) throw launch::Error(path + " is not used: it " + why);
}

// A file's name, or that of a machine in the user's folder.
std::string machine_file(const std::string& text, const std::string& cache) {
  if (is_file(text) || text.find('/') != std::string::npos || cache.empty()) return text;
  const std::string kept = cache + "/machines/" + text + ".json";
  if (!is_file(kept)) return text;
  for (const std::string& own : {cache, cache + "/machines", kept}) require_own(own);
  return kept;
}

std::string as_typed(const Given& given) {
  return given.word + " " + typed_value(given);
}

// An option of agents, where the job has none and nobody has said so.
std::string of_no_agents(const RunLine& line) {
  const auto option = std::ranges::find_if(
      line.given, [](const Given& given) { return given.spec->name.starts_with("agents_"); });
  if (option == line.given.end() || typed_value(*option).empty() ||
      std::ranges::any_of(line.given, [](const Given& given) { return given.spec->name == "agents"; }))
    return {};
  const launch::Settings settings = settings_for_ranks(line);
  if (options_of(settings).agents != "0") return {};
  const auto agents = std::ranges::find(option_list(), "agents", &OptionSpec::name);
  const std::string value = value_of(settings, agents->environment);
  Options scratch;
  const std::string problem = value.empty() ? std::string() : agents->set(scratch, value);
  if (!problem.empty()) return std::string(agents->environment) + "=" + value + ": it " + problem;
  return as_typed(*option) + ": this job has no agents; add --agents 1, or --agents thread";
}

// Lines about settings that the tool finds fault with.
std::string found_by_tool(const std::vector<const Given*>& asked, const Home& home,
                          const std::string& cache) {
  launch::Words words{home.tool(), "settings"};
  for (const Given* given : asked) {
    const std::string value =
        given->spec->name == "machine" ? machine_file(given->values.back(), cache) : value_for_ranks(*given);
    words.push_back("--set");
    words.push_back(std::string(given->spec->name) + "=" + value);
  }
  const launch::Answer answer = launch::answer_of(words, longest_judgement);
  const auto problems = nlohmann::json::parse(answer.output, nullptr, false);
  if (answer.status != 0 || !problems.is_array()) {
    throw launch::Error(words[0] + " gave no answer" + (answer.errors.empty() ? "" : ": " + answer.errors) +
                        "; is it of another version? Build or install it again.");
  }
  std::string lines;
  for (const auto& problem : problems) {
    for (const Given* given : asked) {
      if (problem.value("name", "") != given->spec->name) continue;
      lines += (lines.empty() ? "" : "\n") + as_typed(*given) + ": " + problem.value("problem", "");
    }
  }
  return lines;
}

}  // namespace

std::string value_of(const launch::Settings& settings, std::string_view variable) {
  const auto found = std::ranges::find(settings, variable, &launch::Settings::value_type::first);
  return found == settings.end() ? std::string() : found->second;
}

void set(launch::Settings& settings, const std::string& variable, const std::string& value) {
  const auto found = std::ranges::find(settings, variable, &launch::Settings::value_type::first);
  if (found == settings.end()) {
    settings.emplace_back(variable, value);
  } else {
    found->second = value;
  }
}

launch::Settings settings_for_ranks(const RunLine& line) {
  launch::Settings settings;
  const Environment environment = Environment::of_process();
  for (const std::string& variable : environment.variables()) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (equals == std::string::npos || !name.starts_with("UNISONO_") ||
        std::ranges::find(ours, name) != std::end(ours))
      continue;
    set(settings, name, *environment.find(name));
  }
  std::ranges::sort(settings);
  for (const Given& given : line.given)
    set(settings, std::string(given.spec->environment), value_for_ranks(given));
  if (!line.config.empty()) set(settings, "UNISONO_CONFIG", launch::absolute(line.config));
  return settings;
}

Options options_of(const launch::Settings& settings) {
  std::vector<std::string> variables = Environment::of_process().variables();
  std::erase_if(variables, [](const std::string& variable) { return variable.starts_with("UNISONO_"); });
  for (const auto& [name, value] : settings) variables.push_back(name + "=" + value);
  std::vector<std::string> warnings;  // which the job says
  return read_options(Environment(variables), &warnings);
}

void require_sensible(const RunLine& line, const Home& home) {
  if (!line.config.empty() && !is_file(line.config))
    throw UsageError("--config " + line.config + ": there is no such file.");
  std::string problems;
  std::vector<const Given*> asked;
  for (const Given& given : line.given) {
    Options scratch;
    const std::string problem = given.spec->set(scratch, value_for_ranks(given));
    if (!problem.empty()) problems += (problems.empty() ? "" : "\n") + as_typed(given) + ": it " + problem;
    if (std::ranges::find(judged_by_tool, given.spec->name) != std::end(judged_by_tool))
      asked.push_back(&given);
  }
  if (problems.empty()) problems = of_no_agents(line);
  if (problems.empty() && !asked.empty())
    problems = found_by_tool(asked, home, cache_directory(options_of(settings_for_ranks(line)).cache));
  if (!problems.empty()) throw UsageError(problems);
}

void require_ranks_of_nodes(const RunLine& line, const launch::Understood& understood) {
  const auto given =
      std::ranges::find(line.given, "nodes", [](const Given& option) { return option.spec->name; });
  if (given == line.given.end() || !understood.launcher) return;
  const auto layout = patterns::Layout::parse(given->values.back());
  const auto behind = line.command.begin() + static_cast<std::ptrdiff_t>(understood.position) + 1;
  const launch::Flavour& flavour = *understood.launcher->flavour;
  const std::optional<std::int64_t> ranks =
      launch::asked_ranks(flavour, launch::sections_of(flavour, launch::Words(behind, line.command.end())));
  if (!layout || !ranks || layout->size() == *ranks) return;
  const int nodes = layout->nodes();
  const std::string meant = *ranks % nodes == 0 ? "; " + given->word + " " + std::to_string(nodes) + "x" +
                                                      std::to_string(*ranks / nodes) + " would fit"
                                                : "";
  throw UsageError(as_typed(*given) + ": it holds " + std::to_string(layout->size()) +
                   " ranks, and the launcher is asked for " + std::to_string(*ranks) + meant + ".");
}

}  // namespace unisono::front
