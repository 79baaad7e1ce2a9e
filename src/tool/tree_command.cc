// SPDX-License-Identifier: BSD-3-Clause
// The closed forms of reductions along f-nomial trees, and what the trees take in virtual time (N6).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.h"
#include "model/fnomial.h"
#include "model/simulate.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/machines.h"
#include "tool/question.h"
#include "tool/tree_model.h"

namespace unisono::tool {
namespace {

using model::FNomial;
using model::SerialTime;
using nlohmann::ordered_json;

bool tell_a_slope(const std::vector<SerialTime>& times) {
  return std::ranges::any_of(
      times, [&](const SerialTime& one) { return one.ranks != times.front().ranks && one.us > 0; });
}

// What was given, or else what the machine was measured to take; empty: neither.
struct Serial {
  std::vector<SerialTime> times;
  std::int64_t bytes = 0;
};
Serial measured_serial(const model::SerialReductions* measured) {
  Serial serial;
  if (measured == nullptr) return serial;
  serial.bytes = measured->bytes;
  for (std::size_t i = 0; i < measured->us.size(); ++i)
    if (measured->us[i] > 0) serial.times.push_back({measured->children[i] + 1, measured->us[i]});
  if (!tell_a_slope(serial.times)) serial.times.clear();
  return serial;
}

// "2=11.5,5=17.3": microseconds of serial reductions of so many ranks.
std::vector<SerialTime> serial_times(const std::string& text) {
  std::vector<SerialTime> times;
  const char* at = text.c_str();
  const char* const end = at + text.size();
  while (at < end) {
    SerialTime one;
    const auto ranks = std::from_chars(at, end, one.ranks);
    const bool has_ranks = ranks.ec == std::errc() && ranks.ptr < end && *ranks.ptr == '=' && one.ranks > 0;
    const auto us = has_ranks ? std::from_chars(ranks.ptr + 1, end, one.us) : ranks;
    if (!has_ranks || us.ec != std::errc() || !(one.us > 0) || !std::isfinite(one.us) ||
        (us.ptr < end && *us.ptr != ','))
      throw UsageError("--serial takes times in us by numbers of ranks, as 2=11.5,5=17.3");
    times.push_back(one);
    at = us.ptr + 1;
  }
  if (tell_a_slope(times)) return times;
  throw UsageError("--serial needs times of two numbers of ranks at least: one tells no slope");
}

// r + c is the slope; L is the machine's, and C what is left.
FNomial fitted(FNomial tree, const model::SerialFit& fit) {
  tree.receive_us = std::max(0.0, fit.slope_us - tree.combine_us);
  tree.combine_us = fit.slope_us - tree.receive_us;
  tree.latency_us = std::min(tree.latency_us, fit.intercept_us);
  tree.constant_us = fit.intercept_us - tree.latency_us;
  return tree;
}

double run_us(const schedule::Problem& problem, int degree, std::int64_t bytes, const model::Machine& machine,
              bool is_of_agents) {
  const algorithms::Descriptor* tree = algorithms::find(Operation::reduce, "k_nomial");
  model::Candidate candidate{tree, with_standards(*tree)};
  candidate.parameters.set("degree", degree);
  model::SimulateOptions options;
  options.calls = 1;
  options.has_agents = is_of_agents;
  const model::Simulated done = simulate(candidate, problem, bytes, machine, options);
  if (!done.problem.empty()) throw UsageError(done.problem);
  return done.quiet_us;
}

// Degree by degree: full, refined, in virtual time.
void add_degrees(const FNomial& tree, const schedule::Problem& problem, std::int64_t bytes,
                 const model::Machine& machine, int most, bool is_of_agents, ordered_json* json) {
  const int ranks = is_of_agents ? problem.layout->nodes() : problem.size;
  int best_run = 0;
  double best_run_us = 0;
  for (int degree = 2; degree <= most; ++degree) {
    const double us = run_us(problem, degree, bytes, machine, is_of_agents);
    if (best_run == 0 || us < best_run_us - 1e-9) {
      best_run = degree;
      best_run_us = us;
    }
    (*json)["degrees"].push_back({{"degree", degree},
                                  {"full_us", tree.full_us(ranks, degree)},
                                  {"refined_us", tree.reduce_us(ranks, degree)},
                                  {"run_us", us}});
  }
  (*json)["run_degree"] = best_run;
}

}  // namespace

int describe_trees(const std::vector<std::string>& words) {
  const Arguments arguments(
      words, {"layout", "ranks", "topology", "bytes", "machine", "type", "op", "serial", "most-degree"},
      {"agents"});
  const bool is_of_agents = arguments.has("agents");
  const std::string type = arguments.text("type", "float64"), op = arguments.text("op", "sum");
  const model::Machine machine = chosen_machine_for_work(arguments);
  if (is_of_agents && !machine.agent) throw UsageError("machine " + machine.name + " has no agent");
  schedule::Problem problem;
  problem.operation = Operation::reduce;
  problem.layout = chosen_layout(arguments, 8, most_described_ranks);
  problem.size = problem.layout->size();
  const int ranks = is_of_agents ? problem.layout->nodes() : problem.size;
  if (ranks < 2) throw UsageError("a tree is of two ranks at least");
  const std::int64_t bytes = bytes_from_text(arguments.text("bytes", "8"));
  if (bytes < 1) throw UsageError("--bytes takes a size such as 8, 64K or 1M");
  const TreeOf whose = tree_of(*problem.layout, is_of_agents);
  FNomial tree = tree_model_of(machine, bytes, whose);
  ordered_json json = {
      {"machine", machine.name},     {"ranks", ranks}, {"bytes", bytes}, {"type", type}, {"op", op},
      {"is_on_agents", is_of_agents}};
  const Serial serial = arguments.has("serial") ? Serial{serial_times(arguments.text("serial")), bytes}
                                                : measured_serial(serial_of(machine, bytes, whose));
  if (!serial.times.empty()) {
    const model::SerialFit fit = model::fit_serial(serial.times);
    tree = fitted(tree, fit);
    json["fit"] = {{"slope_us", fit.slope_us},
                   {"intercept_us", fit.intercept_us},
                   {"largest_error", fit.largest_error},
                   {"bytes", serial.bytes},
                   {"is_measured", !arguments.has("serial")}};
    for (const SerialTime& one : serial.times)
      json["fit"]["times"].push_back(
          {{"ranks", one.ranks}, {"us", one.us}, {"serial_us", tree.serial_us(one.ranks)}});
  }
  json["C_us"] = tree.constant_us;
  json["L_us"] = tree.latency_us;
  json["r_us"] = tree.receive_us;
  json["c_us"] = tree.combine_us;
  json["serial_us"] = tree.serial_us(ranks);
  json["full_degree"] = tree.best_degree_of_full_trees();
  json["degree"] = tree.best_degree(ranks);
  const int most = static_cast<int>(arguments.number("most-degree", 2, 64, 8));
  add_degrees(tree, problem, bytes, machine, std::min(ranks, most), is_of_agents, &json);
  print_line(json);
  return 0;
}

}  // namespace unisono::tool
