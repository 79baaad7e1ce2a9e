// SPDX-License-Identifier: BSD-3-Clause
#include "targets.h"

#include <cstdio>
#include <cstdlib>

#include "base/json_text.h"
#include "base/options.h"
#include "base/shown.h"
#include "matching_targets.h"
#include "model/machine.h"
#include "patterns/layout.h"
#include "patterns/network.h"
#include "patterns/topology.h"
#include "runtime/learning/learned_rules.h"
#include "runtime/reports/job_records.h"
#include "runtime/reports/report.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/decisions/decision.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_bounds.h"
#include "tuning/tables/table_json.h"
#include "unit/runtime/some_records.h"

namespace unisono::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: this does not hold: %s\n", what);
  std::abort();
}

void run_table(std::string_view input) {
  tuning::ReadTable read = tuning::table_from_text(input, "t.json");
  if (!read.problem.empty()) return;
  require(read.table.warnings().size() <= 11, "warnings are few");
  tuning::TableJson rules = tuning::TableJson::array();
  for (const tuning::Rule& rule : read.table.rules) {
    const tuning::TableJson json = tuning::to_json(rule);
    const tuning::ReadRule again = tuning::rule_from_json(json);
    require(again.problem.empty(), "a rule that is written is read again");
    require(again.rule.when == rule.when, "and is for the same calls");
    rules.push_back(json);
  }
  tuning::merge_into(&rules, read.table.rules, "2026-11-27");
  tuning::keep_within_bounds(&rules);
  tuning::only_for_others(read.table, "Open MPI 5.0.11");
  std::vector<tuning::SourcedTable> tables;
  tables.push_back({tuning::site_source, std::move(read.table)});
  std::vector<std::string> warnings;
  const tuning::Decider decider = tuning::standard_decider("", std::move(tables), &warnings);
}

void run_machine(std::string_view input) {
  const model::ReadMachine read = model::machine_from_json(input);
  if (!read.machine) return;
  const model::ReadMachine again = model::machine_from_json(model::to_json(*read.machine));
  require(again.machine.has_value(), "a machine that is written is read again");
}

// A rank's message to rank 0, and what is made of it there.
void run_records(std::string_view input) {
  const auto records = runtime::RankRecords::from_message(input);
  if (!records) return;
  require(runtime::RankRecords::from_message(records->message()).has_value(), "records travel again");
  runtime::RecordsOfRanks all;
  all.add(*records);
  const runtime::JobRecords joined = all.joined();
  require(json_from(json_text(runtime::report_json({}, joined))).problem.empty(), "a report that is read");
  runtime::report_summary({}, joined);
  runtime::rules_of(joined.learned.kinds);
}

void run_report(std::string_view input) {
  const ReadJson read = json_from(input);
  if (!read.problem.empty()) return;
  const std::string text = json_text(read.json);
  require(json_from(text).problem.empty(), "JSON that is written is read again");
}

void run_options(std::string_view input) {
  std::vector<std::string> warnings;
  const Options options = options_from_text(input, &warnings);
  std::vector<std::string> again;
  require(to_text(options_from_text(to_text(options), &again)) == to_text(options),
          "options travel as they are");
  std::vector<std::string> of_forced;
  tuning::standard_decider(options.algorithm, {}, &of_forced);
  patterns::Layout::parse(options.nodes);
  for (const std::string& warning : warnings) require(warning.size() < 2000, "a warning can be read");
}

void run_topology(std::string_view input) {
  const bool is_synthetic = patterns::is_synthetic(input);
  const patterns::ReadTopology read =
      is_synthetic ? patterns::synthetic_topology(input) : patterns::topology_from_lines(input, "t.conf");
  require(read.topology.has_value() == read.problem.empty(), "a topology, or a problem");
  constexpr std::size_t most_looked_at = 64;
  if (!read.topology || read.topology->machines.size() > most_looked_at) return;
  auto layout = *patterns::Layout::parse(std::to_string(read.topology->machines.size()) + "x1");
  layout.switches = std::make_shared<patterns::SwitchTree>(read.topology->switches);
  for (const patterns::Machine& machine : read.topology->machines)
    layout.switch_of.push_back(machine.switch_of);
  const patterns::Network network(layout);
  require(network.ring_order().size() == read.topology->machines.size(), "all machines are on the ring");
}

void run_crashes(std::string_view input) {
  const tuning::ReadCrashes read = tuning::crashes_from(input);
  tuning::left_out_by(read.crashes);
  for (const tuning::Crash& crash : read.crashes) require(!crash.date().empty() || crash.time != 0, "a date");
  require(tuning::crashes_from(tuning::to_text(read.crashes)).crashes.size() == read.crashes.size(),
          "records that are written are read again");
}

void run_shown(std::string_view input) {
  const std::string line = shown_in_a_line(input);
  for (const char c : line)
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "no control characters");
  require(shown_in_a_line(line) == line, "what is shown is shown as it is");
  require(bounded(input, 40).size() <= 40, "a bounded text");
}

std::string table_seed() {
  return R"table({"schema":"unisono-table","version":1,"provenance":{"unisono":"1.0","mpi":"Open MPI 5"},"rules":[
{"operation":"allreduce","bytes":[1,4096],"nodes":[1,1],"ranks_per_node":[2,null],"algorithm":"recursive_doubling",
"time_us":1.5,"interval_us":[1.4,1.6],"samples":30,"others":[{"algorithm":"native","time_us":3.0}],"origin":"learned",
"note":"in 100 calls","used":"2026-11-27","jobs":3,"operator":"commutative","form":"blocking"},
{"operation":"bcast","algorithm":"chain(segment=65536)","region":"solve","placement":"scattered",
"oversubscribed":true,"mpi":"MPICH 4","measured_bytes":512},
{"operation":"barrier","algorithm":"native"}]})table";
}

std::string crash_seed() {
  tuning::Crash crash{.place = {.program = "a.out", .machine = "m", .mpi = "MPICH 4", .unisono = "1.0"},
                      .host = "node0",
                      .rank = 1,
                      .ranks = 4,
                      .id = "node0:1:2",
                      .time = 1'700'000'000,
                      .signal = "SIGSEGV",
                      .operation = "bcast",
                      .algorithm = "chain(segment=65536)",
                      .bytes = 4096};
  return crash.line() + tuning::withdrawal_line("node0:3:4") + crash.line();
}

std::vector<Target> make_targets() {
  const std::string report =
      R"({"schema":"unisono-report","classes":[{"shape":"4 ranks","time_s":1e-3}],"x":null})";
  std::vector<Target> all = matching_targets();
  const std::vector<Target> of_files = {
      {"table", run_table, {table_seed()}},
      {"machine", run_machine, {model::to_json(model::built_in_machines().front())}},
      {"records", run_records, {runtime::some_records().message()}},
      {"report", run_report, {report}},
      {"options",
       run_options,
       {to_text(Options()), "algorithm = bcast:chain(segment=64K),all:native # x\n",
        "report = \"a #\\\"\\\\\\n\" # x\n"}},
      {"topology",
       run_topology,
       {"SwitchName=s0 Nodes=n[00-03,7]\nSwitchName=s1 Nodes=a,b # c\nSwitchName=top Switches=s[0-1]\n",
        "tree:2x4x8", "tree:3,5,8"}},
      {"crashes", run_crashes, {crash_seed()}},
      {"shown", run_shown, {"caf\xc3\xa9 \x1b[31m \xe2\x80\xae \xc2\x9b \xf0\x9f\x98\x80"}},
  };
  all.insert(all.end(), of_files.begin(), of_files.end());
  return all;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = make_targets();
  return all;
}

}  // namespace unisono::fuzz
