// SPDX-License-Identifier: BSD-3-Clause
// Many calls in virtual time, on hosts with noise or on agents: how long they take, and how their times
// spread. And the closed forms of reductions along trees (N6).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/options.h"
#include "model/distribution.h"
#include "model/fnomial.h"
#include "model/noise_file.h"
#include "model/simulate.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/machines.h"
#include "tool/question.h"
#include "tool/tree_model.h"
#include "tuning/decisions/algorithm_text.h"

namespace unisono::tool {
namespace {

using model::Distribution;
using model::Machine;
using model::NoiseSource;
using model::SimulateOptions;
using nlohmann::ordered_json;

// What `unisono machine measure --noise` has written.
model::NoiseRecording recording_in(const std::string& name) {
  const ReadFile file = read_file(name);
  if (!file.text) throw UsageError("--noise recorded:" + name + ": it " + file.problem);
  const model::ReadRecording read = model::recording_from_json(*file.text);
  if (!read.recording) throw UsageError("--noise recorded:" + name + ": " + read.problem);
  return *read.recording;
}

// `machine`: as the machine has it; `recorded`: as it was measured on that machine, `recorded:FILE` as a file
// has it; `none`.
std::vector<NoiseSource> chosen_noise(const Arguments& arguments, const Machine& machine) {
  std::vector<NoiseSource> all;
  if (!arguments.has("noise")) return machine.noise;
  if (arguments.all("noise").size() > 1 && std::ranges::count(arguments.all("noise"), "none") > 0)
    throw UsageError("--noise none leaves all noise out, and there is another --noise");
  for (const std::string& given : arguments.all("noise")) {
    const std::size_t colon = given.find(':');
    const std::string text = given.substr(0, colon);
    if (text == "none") continue;
    if (text == "machine") {
      all.insert(all.end(), machine.noise.begin(), machine.noise.end());
      continue;
    }
    const model::ReadNoise read = model::noise_from_text(text);
    if (!read.source) throw UsageError("--noise " + text + ": " + read.problem);
    const bool is_recorded = read.source->kind == model::NoiseKind::recorded;
    if (!is_recorded && colon != std::string::npos)
      throw UsageError("--noise " + given + ": only 'recorded' takes a file");
    if (!is_recorded || colon != std::string::npos) {
      all.push_back(*read.source);
      if (is_recorded) all.back().recording = recording_in(given.substr(colon + 1));
      continue;
    }
    const auto found = std::ranges::find(machine.noise, model::NoiseKind::recorded, &NoiseSource::kind);
    if (found == machine.noise.end())
      throw UsageError("--noise recorded: machine " + machine.name + " has no recording");
    all.push_back(*found);
    all.back().waiting_share = read.source->waiting_share;
  }
  return all;
}

double decimal(const Arguments& arguments, const char* name, double least, double most, double otherwise) {
  if (!arguments.has(name)) return otherwise;
  const std::string text = arguments.text(name);
  std::size_t read = 0;
  double value = least - 1;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
  }
  if (read != text.size() || !(value >= least && value <= most))
    throw UsageError("--" + std::string(name) + " takes a number from " + ordered_json(least).dump() +
                     " to " + ordered_json(most).dump() + ", not '" + text + "'");
  return value;
}

SimulateOptions chosen_options(const Arguments& arguments, const Machine& machine) {
  SimulateOptions options;
  const std::string model = arguments.text("model", name(options.model));
  const auto known = model::message_model_from_name(model);
  if (!known) throw UsageError("--model " + model + ": there are hockney, logp, loggp, plogp");
  options.model = *known;
  options.calls = static_cast<int>(arguments.number("calls", 1, 10'000'000, options.calls));
  options.noise = chosen_noise(arguments, machine);
  options.slow_share = decimal(arguments, "slow-share", 0, 1, 0);
  options.slow_factor = decimal(arguments, "slow-factor", 1, 1000, 1);
  options.seed = static_cast<std::uint64_t>(arguments.number("seed", 0, std::int64_t{1} << 62, 1));
  options.has_agents = arguments.has("agents");
  options.has_hosts_at_ends = arguments.has("hosts-at-ends");
  options.has_broadcast = arguments.has("broadcast");
  options.compute_us = decimal(arguments, "compute-us", 0, 1e9, 0);
  options.is_overlapped = arguments.has("overlap");
  options.is_together = !arguments.has("no-barrier");
  options.by_events = arguments.has("events");
  options.most_pieces = arguments.number("steps", 1, std::int64_t{1} << 40, options.most_pieces);
  return options;
}

model::Candidate chosen_candidate(const Arguments& arguments, Operation operation,
                                  const schedule::Problem& problem, const Machine& machine,
                                  std::int64_t bytes) {
  if (!arguments.has("algorithm")) {
    const bool is_tree = arguments.has("agents") || arguments.has("broadcast");
    return standard_candidate(operation, problem, machine, bytes, arguments.has("agents"), is_tree);
  }
  const std::string text = arguments.text("algorithm");
  const tuning::ReadAlgorithm read = tuning::algorithm_from_text(operation, text);
  if (!read.problem.empty()) throw UsageError(read.problem);
  if (read.named.algorithm == nullptr)
    throw UsageError("native shows nobody its steps: name an algorithm (`unisono list " +
                     std::string(name(operation)) + "`)");
  return {read.named.algorithm, with_standards(*read.named.algorithm, read.named.parameters)};
}

ordered_json to_json(const Distribution& found) {
  ordered_json json = {{"mean_us", found.mean},
                       {"deviation_us", found.deviation},
                       {"least_us", found.least},
                       {"most_us", found.most},
                       {"trimmed",
                        {{"share", found.trimmed_share},
                         {"mean_us", found.trimmed_mean},
                         {"deviation_us", found.trimmed_deviation}}}};
  for (const auto& one : found.percentiles)
    json["percentiles"].push_back({{"share", one.share}, {"us", one.us}});
  for (const auto& one : found.windows)
    json["windows"].push_back({{"us", one.us}, {"from_us", one.from}, {"share", one.share}});
  for (const auto& one : found.histogram) json["histogram"].push_back({one.from, one.to, one.count});
  return json;
}

ordered_json to_json(const model::ReplayCheck& check) {
  if (check.calls == 0) return nullptr;
  return {{"calls", check.calls},
          {"differing", check.differing},
          {"mean_error", check.mean_error},
          {"most_error", check.most_error}};
}

// With all of its parameters.
std::string full_text_of(const model::Candidate& candidate) {
  std::string inside;
  for (const auto& [key, value] : candidate.parameters.values())
    inside += (inside.empty() ? "" : ",") + key + "=" + bytes_to_text(value);
  return candidate.algorithm->name + (inside.empty() ? "" : "(" + inside + ")");
}

struct ProgressLines {
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  void operator()(double share) {
    constexpr auto interval = std::chrono::milliseconds(200);
    const auto now = std::chrono::steady_clock::now();
    if (now - last < interval) return;
    last = now;
    print_line({{"progress", share}});
  }
};

schedule::Problem chosen_problem(const Arguments& arguments, Operation operation) {
  schedule::Problem problem;
  problem.operation = operation;
  problem.layout = chosen_layout(arguments, 8, most_described_ranks);
  problem.size = problem.layout->size();
  if (problem.size < 2) throw UsageError("one rank has nobody to talk to: give two at least");
  problem.neighborhood = chosen_graph(arguments, operation, problem.size);
  problem.root =
      static_cast<int>(arguments.number("root", 0, is_rooted(operation) ? problem.size - 1 : 0, 0));
  return problem;
}

void refuse_what_misses_something(const SimulateOptions& options) {
  if (options.has_hosts_at_ends && !options.has_agents)
    throw UsageError("--hosts-at-ends goes with --agents");
  if (options.is_overlapped && !options.has_agents) throw UsageError("--overlap goes with --agents");
  if (options.is_overlapped && options.compute_us == 0)
    throw UsageError("--overlap goes with --compute, which says how long there is to overlap with");
}

model::DistributionOptions chosen_distribution(const Arguments& arguments) {
  model::DistributionOptions shown{.trimmed_share = decimal(arguments, "trim", 0, 0.9, 0.01)};
  if (arguments.has("window")) shown.windows.clear();
  for (const std::string& text : arguments.all("window"))
    shown.windows.push_back(static_cast<double>(number_from(text, 0, std::int64_t{1} << 40, "--window")));
  return shown;
}

// What was run.
ordered_json to_json(const schedule::Problem& problem, const Machine& machine,
                     const SimulateOptions& options) {
  ordered_json noise = ordered_json::array();
  for (const NoiseSource& source : options.noise) noise.push_back(to_text(source));
  return {{"ranks", problem.size},
          {"nodes", problem.layout->nodes()},
          {"machine", machine.name},
          {"machine_filled", machine.filled},
          {"model", name(options.model)},
          {"noise", noise},
          {"slow", {{"share", options.slow_share}, {"factor", options.slow_factor}}},
          {"is_on_agents", options.has_agents},
          {"has_hosts_at_ends", options.has_hosts_at_ends},
          {"has_broadcast", options.has_broadcast},
          {"compute_us", options.compute_us},
          {"is_overlapped", options.is_overlapped},
          {"is_together", options.is_together},
          {"calls", options.calls},
          {"seed", options.seed}};
}

}  // namespace

int simulate_calls(const std::vector<std::string>& words) {
  const Arguments arguments(
      words, {"operation", "ranks", "layout", "topology", "graph",      "root", "bytes",
              "machine",   "model", "calls",  "noise",    "slow-share", "seed", "slow-factor",
              "algorithm", "type",  "op",     "steps",    "compute-us", "trim", "window"},
      {"progress", "agents", "hosts-at-ends", "broadcast", "overlap", "no-barrier", "events", "samples"});
  Operation operation = arguments.operation("operation");
  if (arguments.has("broadcast")) {
    if (operation != Operation::reduce && operation != Operation::allreduce)
      throw UsageError("--broadcast sends on the result of reduce or allreduce");
    operation = Operation::reduce;
  }
  const std::string type = arguments.text("type", "float64"), op = arguments.text("op", "sum");
  const Machine machine = chosen_machine_for_work(arguments);
  const schedule::Problem problem = chosen_problem(arguments, operation);
  const std::int64_t bytes = bytes_from_text(arguments.text("bytes", "8"));
  if (bytes < 0) throw UsageError("--bytes takes a size such as 8, 64K or 1M");
  SimulateOptions options = chosen_options(arguments, machine);
  refuse_what_misses_something(options);
  const model::DistributionOptions shown = chosen_distribution(arguments);
  if (arguments.has("progress")) options.progress = ProgressLines{};
  const model::Candidate candidate = chosen_candidate(arguments, operation, problem, machine, bytes);
  const model::Simulated done = simulate(candidate, problem, bytes, machine, options);
  if (!done.problem.empty()) throw UsageError(full_text_of(candidate) + ": " + done.problem);
  ordered_json json = {
      {"operation", arguments.text("operation")}, {"bytes", bytes}, {"type", type}, {"op", op}};
  json.update(to_json(problem, machine, options));
  json["algorithm"] = full_text_of(candidate);
  json["by_events"] = done.by_events.empty() ? ordered_json(nullptr) : ordered_json(done.by_events);
  json["replay_check"] = to_json(done.check);
  json["steps"] = done.steps;
  json["works"] = done.works;
  json["quiet_us"] = done.quiet_us;
  json["distribution"] = to_json(model::distribution_of(done.us, shown));
  if (arguments.has("samples")) json["samples"] = done.us;
  print_line(json);
  return 0;
}

}  // namespace unisono::tool
