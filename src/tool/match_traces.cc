// SPDX-License-Identifier: BSD-3-Clause
#include "tool/match_traces.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/near_names.h"
#include "tool/answer.h"

namespace unisono::tool {
namespace {

using matching::Descriptor;

std::vector<std::string> structure_names() {
  std::vector<std::string> names;
  for (const Descriptor& descriptor : matching::registry()) names.emplace_back(descriptor.name);
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::pair<std::string, std::int64_t> parameter_from(std::string_view text, const Engine& engine) {
  const std::string_view name = text.substr(0, text.find('='));
  std::vector<std::string> names;
  for (const matching::Parameter& parameter : engine.descriptor->parameters) {
    names.emplace_back(parameter.name);
    if (parameter.name != name) continue;
    const std::string_view value = text.substr(std::min(text.size(), name.size() + 1));
    return {std::string(name), number_from(value, parameter.low, parameter.high, name)};
  }
  throw UsageError(std::string(engine.descriptor->name) + " has no parameter '" + std::string(name) + "'" +
                   (names.empty() ? "; it has none" : "; there are " + list_of(names)));
}

Engine engine_from(const std::string& text) {
  Engine engine{.text = text};
  const std::size_t open = std::min(text.find('('), text.size());
  const std::string name = text.substr(0, open);
  engine.descriptor = matching::find(name);
  if (engine.descriptor == nullptr)
    throw UsageError("there is no structure '" + name + "'" + did_you_mean(name, structure_names()) +
                     "; there are " + list_of(structure_names()));
  if (open == text.size()) return engine;
  if (text.back() != ')') throw UsageError("'" + text + "' wants a ) at its end");
  std::string_view rest = std::string_view(text).substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    engine.values.push_back(parameter_from(rest.substr(0, comma), engine));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return engine;
}

}  // namespace

std::unique_ptr<matching::Queues> Engine::queues(int ranks, const matching::Profile* profile) const {
  matching::Setup setup{.ranks = ranks, .profile = profile};
  for (const auto& [name, value] : values) setup.values.emplace_back(name, value);
  return matching::make_queues(*descriptor, setup);
}

std::vector<Engine> engines_from(const Arguments& arguments) {
  std::vector<Engine> engines;
  const std::vector<std::string> asked = arguments.all("engine");
  const bool is_all = asked.empty() || std::ranges::find(asked, "all") != asked.end();
  for (const std::string& text : is_all ? structure_names() : asked) engines.push_back(engine_from(text));
  return engines;
}

traces::Trace trace_from(const Arguments& arguments) {
  const std::string file = arguments.text("file");
  const ReadFile read = read_file(file, traces::most_trace_bytes);
  if (!read.text) throw UsageError(file + " " + read.problem);
  traces::ReadTrace found = traces::read_trace(*read.text);
  if (!found.problem.empty()) throw UsageError(file + " is no trace of messages: " + found.problem);
  return std::move(found.trace);
}

std::map<std::string, std::uint64_t> counts_of(const traces::Trace& trace) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [rank, of_one] : trace.of_rank)
    for (const auto& [name, count] : of_one.counts) counts[name] += count;
  return counts;
}

std::vector<RankOrders> orders_of(const traces::Trace& trace, const Arguments& arguments) {
  std::vector<int> asked;
  if (arguments.has("rank")) asked = numbers_from(arguments.text("rank"), 0, trace.ranks - 1, "--rank");
  const traces::Incoming incoming(trace);
  std::vector<RankOrders> found;
  double done = 0;
  for (const auto& [rank, of_one] : trace.of_rank) {
    tell_progress(arguments, done++ / static_cast<double>(trace.of_rank.size()), "order of the queues");
    if (!asked.empty() && !std::ranges::binary_search(asked, rank)) continue;
    RankOrders orders{.rank = rank, .is_exact = of_one.is_exact};
    orders.low = traces::order_of(trace, rank, incoming, traces::Rule::until_match);
    if (orders.low.events.empty()) continue;
    if (!orders.is_exact) orders.high = traces::order_of(trace, rank, incoming, traces::Rule::all_sent);
    orders.profile = traces::profile_of(orders.is_exact ? orders.low : orders.high, trace.ranks);
    found.push_back(std::move(orders));
  }
  return found;
}

void take_profiles(const Arguments& arguments, int ranks, std::vector<RankOrders>* orders) {
  if (!arguments.has("profile")) return;
  const std::string file = arguments.text("profile");
  const ReadFile text = read_file(file, matching::most_profile_bytes);
  if (!text.text) throw UsageError(file + " " + text.problem);
  matching::ReadProfile read = matching::read_profiles(*text.text);
  if (!read.problem.empty()) throw UsageError(file + " is no profile of queues: " + read.problem);
  if (read.ranks != ranks)
    throw UsageError(file + " is a profile of " + std::to_string(read.ranks) +
                     " ranks, and the trace is of " + std::to_string(ranks));
  for (RankOrders& of : *orders) {
    of.profile = {.ranks = ranks};
    if (const auto found = read.of_ranks.find(of.rank); found != read.of_ranks.end())
      of.profile = std::move(found->second);
  }
}

double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void tell_progress(const Arguments& arguments, double share, const std::string& now) {
  using std::chrono::steady_clock;
  static steady_clock::time_point last;
  constexpr auto interval = std::chrono::milliseconds(200);
  if (!arguments.has("progress") || steady_clock::now() - last < interval) return;
  last = steady_clock::now();
  print_line({{"progress", share}, {"now", now}});
}

}  // namespace unisono::tool
