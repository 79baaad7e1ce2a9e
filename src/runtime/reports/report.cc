// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "base/json_text.h"
#include "base/options.h"
#include "base/shown.h"
#include "base/version.h"
#include "base/write_signals.h"
#include "tuning/decisions/size_class.h"

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json non_default_options(const std::string& lines) {
  std::vector<std::string> ignored;
  const Options given = options_from_text(lines, &ignored), standard;
  Json options = Json::object();
  for (const OptionSpec& spec : option_list()) {
    if (spec.get(given) != spec.get(standard)) options[std::string(spec.name)] = spec.get(given);
  }
  return options;
}

Json parameter_json(const ParameterValues& parameters) {
  Json object = Json::object();
  for (const auto& [key, value] : parameters) object[key] = value;
  return object;
}

// Null: nothing is known.
Json time_json(double seconds) {
  return seconds == tuning::unknown_s ? Json() : Json(seconds);
}

Json class_json(const JobClass& of) {
  const ClassRecord& record = of.of_longest;
  return {{"shape", record.key.shape},
          {"layout", record.layout},
          {"oversubscribed", record.is_oversubscribed},
          {"operation", std::string(name(record.key.operation))},
          {"form", name(record.key.form)},
          {"size_class", tuning::class_label(record.key.size_class)},
          {"bytes_low", tuning::class_low(record.key.size_class)},
          {"bytes_high", tuning::class_high(record.key.size_class)},
          {"calls", record.calls},
          {"bytes", record.bytes},
          {"checks", record.checks},
          {"mismatches", record.mismatches},
          {"time_s", record.time_s},
          {"time_mean_s", of.mean_s},
          {"time_error_s", record.time_error_s},
          {"sampled", record.is_sampled},
          {"algorithm", record.key.algorithm},
          {"parameters", parameter_json(record.parameters)},
          {"reason", record.reason},
          {"source", record.source}};
}

const char* name(Compared compared) {
  switch (compared) {
    case Compared::shortest:
      return "shortest";
    case Compared::longest:
      return "longest";
    case Compared::mean:
      return "mean";
  }
  return "";
}

// As users write it: "ring(segment=65536,window=2)".
std::string text(const UsedAlgorithm& used) {
  std::string inside;
  for (const auto& [key, value] : used.parameters)
    inside += (inside.empty() ? "" : ",") + key + "=" + std::to_string(value);
  return inside.empty() ? used.name : used.name + "(" + inside + ")";
}

Json candidate_json(const LearnedCandidate& candidate) {
  return {{"algorithm", candidate.algorithm.name},
          {"parameters", parameter_json(candidate.algorithm.parameters)},
          {"calls", candidate.calls},
          {"measured_calls", candidate.measured_calls},
          {"time_s", time_json(candidate.time_s)},
          {"quietest_s", time_json(candidate.quietest_s)}};
}

Json learning_json(const LearnedKind& kind) {
  Json out = {{"communicator", kind.communicator},
              {"shape", kind.shape},
              {"layout", kind.layout},
              {"oversubscribed", kind.is_oversubscribed},
              {"reproducible", kind.is_reproducible},
              {"commutative", kind.is_commutative},
              {"operation", std::string(name(kind.operation))},
              {"size_class", tuning::class_label(kind.size_class)},
              {"bytes_low", tuning::class_low(kind.size_class)},
              {"bytes_high", tuning::class_high(kind.size_class)},
              {"region", kind.region},
              {"compared", name(kind.compared)},
              {"calls", kind.calls},
              {"agreements", kind.agreements},
              {"chosen", kind.chosen},
              {"time_s", time_json(kind.time_s)},
              {"usual", text(kind.usual)},
              {"compared_with_usual", kind.is_compared_with_usual},
              {"uncertainty", kind.uncertainty},
              {"trial_loss_s", kind.trial_loss_s},
              {"measuring_overhead_s", kind.measuring_overhead_s},
              {"monitoring_overhead_s", kind.monitoring_overhead_s},
              {"candidates", Json::array()},
              {"untried", kind.untried},
              {"timeline", Json::array()}};
  for (const LearnedCandidate& candidate : kind.candidates)
    out["candidates"].push_back(candidate_json(candidate));
  for (const LearnedEvent& event : kind.timeline) {
    out["timeline"].push_back({{"call", event.call},
                               {"algorithm", event.algorithm},
                               {"trial", event.is_trial},
                               {"why", event.why}});
  }
  return out;
}

Json communicator_json(const CommunicatorRecord& record) {
  return {{"id", record.id},       {"name", record.name}, {"size", record.size},
          {"nodes", record.nodes}, {"ppn", record.ppn},   {"calls", record.calls}};
}

Json native_json(const NativeRecord& record) {
  return {
      {"operation", std::string(name(record.operation))}, {"calls", record.calls}, {"reason", record.reason}};
}

Json agent_json(const AgentRecord& record) {
  return {{"operation", std::string(name(record.operation))},
          {"carrier", record.carrier},
          {"calls", record.calls}};
}

// [[degree, how many ranks have it], ...]
Json degrees_json(const std::map<std::uint64_t, std::uint64_t>& degrees) {
  Json list = Json::array();
  for (const auto& [degree, ranks] : degrees) list.push_back({degree, ranks});
  return list;
}

Json graph_json(const JobGraph& graph) {
  Json edges;
  if (graph.is_listed()) {
    edges = Json::array();
    for (const auto& [from, to] : graph.listed) edges.push_back({from, to});
  }
  return {{"communicator", graph.communicator},
          {"ranks", graph.ranks},
          {"layout", graph.layout},
          {"edge_count", graph.edges},
          {"edges", edges},
          {"out_degrees", degrees_json(graph.out_degrees)},
          {"in_degrees", degrees_json(graph.in_degrees)}};
}

template <class T>
Json list_json(const std::vector<T>& of, Json (*one)(const T&)) {
  Json list = Json::array();
  for (const T& entry : of) list.push_back(one(entry));
  return list;
}

}  // namespace

const char* name(CallForm form) {
  switch (form) {
    case CallForm::blocking:
      return "blocking";
    case CallForm::non_blocking:
      return "non-blocking";
    case CallForm::persistent:
      return "persistent";
  }
  return "";
}

Json report_json(const JobFacts& facts, const JobRecords& records) {
  Json report = {{"schema", "unisono-report"}, {"version", 1},
                 {"unisono", own_version()},   {"mpi", facts.mpi},
                 {"family", facts.family},     {"ranks", facts.ranks},
                 {"wall_s", facts.wall_s},     {"program", facts.program},
                 {"command", facts.command},   {"date", facts.date}};
  for (std::size_t n = 0; n < facts.node_names.size(); ++n) {
    Json node = {{"name", facts.node_names[n]}, {"ranks", facts.node_ranks[n]}};
    for (std::size_t i = 0; n < facts.node_domains.size() && i < facts.node_domains[n].size(); ++i) {
      const DomainFacts& level = facts.node_domains[n][i];
      node["domains"].push_back({{"kind", level.kind}, {"ranks", level.ranks}});
    }
    report["nodes"].push_back(std::move(node));
  }
  report["usable_cores"] = facts.node_cores;
  report["options"] = non_default_options(facts.options);
  report["communicators"] = list_json(records.communicators, communicator_json);
  if (!records.graphs.empty()) report["graphs"] = list_json(records.graphs, graph_json);
  report["classes"] = list_json(records.classes, class_json);
  report["native"] = list_json(records.native, native_json);
  report["learning"] = list_json(records.learned.kinds, learning_json);
  const TimeOfRanks& blocking = records.blocking;
  report["collective_time_s"] = {
      {"max", blocking.most_s}, {"mean", blocking.mean_s}, {"error", blocking.error_s}};
  report["under_way_time_s"] = {{"max", records.under_way.most_s}, {"mean", records.under_way.mean_s}};
  if (records.profile) report["profile"] = profile_json(*records.profile);
  if (!facts.machine.empty()) report["measured_here"] = facts.machine;
  if (!facts.waits.empty()) report["waits"] = facts.waits;
  if (facts.agents_started_again) {
    report["agents"] = {{"started_again", *facts.agents_started_again},
                        {"calls", list_json(records.by_agents, agent_json)}};
    if (const AgentTimes& times = records.agent_times; times.calls != 0)
      report["agents"]["timed"] = {
          {"calls", times.calls}, {"under_way_s", times.under_way_s}, {"waited_s", times.waited_s}};
  }
  if (facts.messages) {
    const MessageTotals& of = *facts.messages;
    report["messages"] = {{"sent", of.sent},
                          {"data_by_mpi", of.by_host},
                          {"deepest_posted", of.deepest_posted},
                          {"deepest_unexpected", of.deepest_unexpected},
                          {"most_unexpected_bytes", of.most_unexpected_bytes},
                          {"floods", of.floods}};
  }
  report["warnings"] = facts.warnings;
  report["hints"] = facts.hints;
  return report;
}

std::string write_report(const std::string& where, const JobFacts& facts, const JobRecords& records) {
  if (where == "-") {
    const std::string text = shown(report_summary(facts, records));
    const WithoutWriteSignals without_signals;
    std::fwrite(text.data(), 1, text.size(), stderr);
    return {};
  }
  const std::string problem = replace_file(where, json_text(report_json(facts, records), 2) + '\n');
  return problem.empty() ? problem : "the report " + where + " " + problem;
}

void remove_old_report(const std::string& where) {
  struct stat status {};
  if (where.empty() || ::lstat(where.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const int file = ::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  char head[64];  // the schema comes first
  const ssize_t size = ::read(file, head, sizeof head);
  ::close(file);
  const std::string_view begin(head, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (begin.find("\"unisono-report\"") != std::string_view::npos) ::unlink(where.c_str());
}

}  // namespace unisono::runtime
