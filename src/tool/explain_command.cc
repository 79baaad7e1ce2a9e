// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm would serve a call, why, and what else there is (B3): asks the Decider that jobs ask.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agents/served.h"
#include "algorithms/catalogue/agent_descriptors.h"
#include "base/options.h"
#include "shm/slice/slice.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/machines.h"
#include "tool/question.h"
#include "tuning/decisions/candidates.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/decisions/prediction.h"
#include "tuning/decisions/size_class.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table_files.h"
#include "tuning/tables/table_json.h"

namespace unisono::tool {
namespace {

using tuning::NamedAlgorithm;
using tuning::Question;
using tuning::TableJson;
using tuning::TableRules;
using tuning::Timed;

constexpr int standard_ranks = 8;
constexpr const char* standard_machine = "typical";

Question question_from(const Arguments& arguments) {
  Question question;
  question.problem.operation = arguments.operation("operation");
  question.problem.layout = chosen_layout(arguments, standard_ranks, most_described_ranks);
  question.problem.size = question.problem.layout->size();
  // Without one, as of a report's calls, nothing is predicted.
  if (arguments.has("graph"))
    question.problem.neighborhood =
        chosen_graph(arguments, question.problem.operation, question.problem.size);
  const bool is_reducing = is_reduction(question.problem.operation);
  question.problem.is_reproducible = is_reducing && arguments.has("reproducible");
  question.problem.is_commutative =
      !is_reducing || (!arguments.has("ordered") && !question.problem.is_reproducible);
  const std::int64_t bytes = arguments.number("bytes", 0, std::int64_t{1} << 60, 0);
  question.size_class = tuning::size_class(is_decided_by_bytes(question.problem.operation) ? bytes : 0);
  question.has_shared_memory = !arguments.has("no-shared-memory");
  question.has_single_copy = question.has_shared_memory && !arguments.has("no-single-copy");
  const auto channel_bytes = static_cast<std::size_t>(Options().channel_bytes);
  question.has_streams = question.has_shared_memory && question.problem.layout->nodes() == 1 &&
                         shm::SliceShape::stream_bytes_of(question.problem.size, channel_bytes) != 0;
  question.is_blocking = !arguments.has("non-blocking");
  question.is_oversubscribed = arguments.has("oversubscribed");
  question.mpi = arguments.text("mpi", "");
  return question;
}

// What a job would read with these options in this environment.
std::vector<tuning::TableText> table_texts(const Arguments& arguments, Options* options,
                                           std::vector<std::string>* warnings) {
  if (!arguments.has("no-environment")) *options = read_options(Environment::of_process(), warnings);
  if (arguments.has("algorithm")) options->algorithm = arguments.text("algorithm");
  if (arguments.has("site-table")) options->site_table = arguments.text("site-table");
  if (arguments.has("cache")) options->cache = arguments.text("cache");
  if (arguments.has("table")) options->table.clear();
  for (const std::string& file : arguments.all("table")) options->table += file + ":";
  tuning::StorePlace place;
  if (arguments.has("mpi") && (arguments.has("cache") || !arguments.has("no-environment"))) {
    place = tuning::store_place(tuning::cache_directory(options->cache), tuning::machine_name(),
                                arguments.text("mpi"),
                                *chosen_layout(arguments, standard_ranks, most_described_ranks));
  }
  return tuning::read_table_texts(*options, place, warnings);
}

// What a job of the program that is asked about would leave out here, since others have died in it: under the
// MPI that is named, or any.
tuning::LeftOut left_out_of(const Arguments& arguments, const Options& options) {
  if (!arguments.has("program") || !options.watches_crashes) return {};
  std::vector<tuning::Crash> crashes =
      tuning::read_crashes(tuning::crash_file(tuning::cache_directory(options.cache))).crashes;
  tuning::CrashPlace place{.program = arguments.text("program"),
                           .machine = tuning::machine_name(),
                           .mpi = arguments.text("mpi", ""),
                           .unisono = UNISONO_VERSION};
  std::erase_if(crashes, [&](const tuning::Crash& crash) {
    if (!arguments.has("mpi")) place.mpi = crash.place.mpi;
    return crash.place != place;
  });
  return tuning::left_out_by(crashes);
}

// One algorithm that could serve the call, or could not.
struct Candidate {
  NamedAlgorithm algorithm;
  std::optional<Timed> timed;
  std::string from, origin;  // the rule that speaks of it
  double native_us = 0;      // in that rule: times of different rules do not compare
  std::string measured_at;   // the size class of its time, where that is another one
  bool is_near = false;
  std::string why_illegal;
  std::optional<double> predicted_us;  // on the machine that is asked about
};

std::string why_illegal(const NamedAlgorithm& algorithm, const Question& question) {
  return tuning::why_not_taken({.algorithm = algorithm.algorithm}, question);
}

bool is_listed(const std::vector<Candidate>& list, const NamedAlgorithm& algorithm) {
  return std::ranges::any_of(list, [&](const Candidate& c) { return c.algorithm == algorithm; });
}

// What rules for just these calls know of, else the nearest rule.
std::vector<Candidate> candidates_of_tables(const TableRules& rules, const Question& question) {
  std::vector<Candidate> list;
  for (const TableRules::Match& match : tuning::believed(rules.matches(question), question)) {
    if (match.is_near && !list.empty()) break;
    std::vector<Timed> timed{match.rule->chosen};
    timed.insert(timed.end(), match.rule->others.begin(), match.rule->others.end());
    for (const Timed& t : timed) {
      if (is_listed(list, t.algorithm)) continue;
      list.push_back({.algorithm = t.algorithm,
                      .timed = t,
                      .from = tuning::where_from(match, question),
                      .origin = match.rule->origin,
                      .native_us = tuning::native_time_us(*match.rule),
                      .measured_at = tuning::measured_elsewhere(*match.rule, question),
                      .is_near = match.is_near,
                      .why_illegal = why_illegal(t.algorithm, question)});
    }
  }
  return list;
}

// Those of tables, and all others of the operation.
std::vector<Candidate> candidates_of(const TableRules& rules, const Question& question, bool has_agents) {
  std::vector<Candidate> list = candidates_of_tables(rules, question);
  std::vector<NamedAlgorithm> all(1);
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    if (d.operation == question.problem.operation) all.push_back({&d, {}});
  }
  if (const algorithms::Descriptor* agents = algorithms::by_agents(question.problem.operation);
      agents != nullptr && has_agents && question.is_blocking)
    all.push_back({agents, {}});
  for (const NamedAlgorithm& algorithm : all) {
    const bool is_there = std::ranges::any_of(
        list, [&](const Candidate& c) { return c.algorithm.algorithm == algorithm.algorithm; });
    if (!is_there) list.push_back({.algorithm = algorithm, .why_illegal = why_illegal(algorithm, question)});
  }
  // Legal ones first, measured ones by their time.
  std::ranges::stable_sort(list, [](const Candidate& a, const Candidate& b) {
    const auto rank = [](const Candidate& c) {
      const bool has_time = c.timed && c.timed->time_us > 0;
      return std::tuple(!c.why_illegal.empty(), !has_time, has_time ? c.timed->time_us : 0);
    };
    return rank(a) < rank(b);
  });
  return list;
}

// An answer should come at once: of large jobs those that take many steps are not predicted.
void predict_times(const model::Machine& machine, const Question& question, std::vector<Candidate>* list) {
  constexpr std::int64_t most_steps = 1'000'000;
  for (Candidate& candidate : *list) {
    if (!candidate.why_illegal.empty()) continue;
    const model::Candidate asked{candidate.algorithm.algorithm, candidate.algorithm.parameters};
    candidate.predicted_us = tuning::predicted_us(question, asked, machine, most_steps);
  }
}

TableJson to_json(const Candidate& candidate) {
  TableJson json = candidate.timed ? tuning::to_json(*candidate.timed)
                                   : TableJson{{"algorithm", tuning::to_text(candidate.algorithm)}};
  json["from"] = candidate.from;
  json["origin"] = candidate.origin;
  if (candidate.native_us > 0) json["native_us"] = candidate.native_us;
  if (!candidate.measured_at.empty()) json["measured_at"] = candidate.measured_at;
  json["near"] = candidate.is_near;
  json["illegal"] = candidate.why_illegal;
  if (candidate.predicted_us) json["predicted_us"] = *candidate.predicted_us;
  return json;
}

// What learning would do with such calls: whether, and from which of them on.
TableJson learning_json(const Options& options, const Question& question, const tuning::Choice& choice) {
  const bool is_learned = choice.source != "forced" && question.is_blocking && options.is_enabled;
  return {{"mode", is_learned ? options.learn : "off"},
          {"iterations", options.learn_iterations},
          {"after_calls", tuning::calls_before_learning(question, options.learn_budget / 100)}};
}

// Do agents beside the job make such calls? Blocking ones they make where that was chosen.
struct ByAgents {
  bool are_there = false;
  const char* why_not = nullptr;
};

ByAgents by_agents(const Arguments& arguments, const Options& options, const Question& question) {
  const agents::AskedCall asked{.operation = question.problem.operation,
                                .bytes = question.bytes(),
                                .is_persistent = arguments.has("persistent"),
                                .is_checked = arguments.has("verify") || options.verify != Options().verify,
                                .is_reproducible = question.problem.is_reproducible,
                                .is_plain = question.problem.is_commutative};
  const char* why = agents::why_not_served(asked);
  if (why == nullptr && question.problem.layout->nodes() == 1) why = "its communicator is inside one node";
  const bool are_there = arguments.number("agents", 0, 1, options.agents == "0" ? 0 : 1) != 0;
  return {.are_there = are_there, .why_not = why};
}

TableJson to_json(const ByAgents& agents, const Question& question) {
  const bool may_serve = agents.are_there && agents.why_not == nullptr;
  return {{"there", agents.are_there},
          {"serve", may_serve && !question.is_blocking},
          {"may_be_chosen", may_serve && question.is_blocking},
          {"why_not", agents.why_not == nullptr ? std::string() : std::string(agents.why_not)}};
}

TableJson to_json(const Question& question) {
  const Operation operation = question.problem.operation;
  TableJson json = {{"operation", name(operation)},
                    {"size_class", tuning::class_label(question.size_class)},
                    {"bytes_low", tuning::class_low(question.size_class)},
                    {"bytes_high", question.bytes()},
                    {"layout", question.problem.layout->text()},
                    {"shape", question.problem.layout->describe()},
                    {"form", question.is_blocking ? "blocking" : "non-blocking"},
                    {"oversubscribed", question.is_oversubscribed},
                    {"reproducible", question.problem.is_reproducible},
                    {"region", question.region},
                    {"mpi", question.mpi}};
  if (is_reduction(operation)) json["operator"] = question.problem.is_commutative ? "commutative" : "ordered";
  return json;
}

}  // namespace

int explain_decision(const std::vector<std::string>& words) {
  const Arguments arguments(
      words,
      {"operation", "bytes", "layout", "ranks", "topology", "table", "site-table", "cache", "algorithm",
       "mpi", "region", "machine", "program", "graph", "agents"},
      {"ordered", "reproducible", "persistent", "verify", "non-blocking", "oversubscribed",
       "no-shared-memory", "no-single-copy", "no-environment", "no-predictions"});
  Question question = question_from(arguments);
  const std::string region = arguments.text("region", "");
  question.region = region;
  Options options;
  std::vector<std::string> warnings, said;
  const std::vector<tuning::TableText> texts = table_texts(arguments, &options, &warnings);
  const tuning::LeftOut left_out = left_out_of(arguments, options);
  question.left_out = &left_out;
  question.may_be_tested = tuning::may_be_tested(options, question.problem.operation, question.is_blocking,
                                                 arguments.has("reproducible"));
  const ByAgents agents = by_agents(arguments, options, question);
  if (agents.are_there)
    question.why_no_agents = agents.why_not == nullptr ? std::string() : agents::refusal(agents.why_not);
  const TableRules rules(tuning::tables_from(texts, &said));
  tuning::Decider decider =
      tuning::standard_decider(options.algorithm, tuning::tables_from(texts, &warnings), &warnings);
  const tuning::Choice choice = decider.decide(question);
  for (std::string& warning : decider.take_warnings()) warnings.push_back(std::move(warning));
  TableJson considered = TableJson::array(), candidates = TableJson::array(), tables = TableJson::array();
  for (const tuning::Considered& c : decider.consider(question)) {
    considered.push_back({{"algorithm", c.choice.text()},
                          {"source", c.choice.source},
                          {"reason", c.choice.reason},
                          {"why_not", c.why_not}});
  }
  const model::Machine machine = chosen_machine(arguments.text("machine", standard_machine));
  std::vector<Candidate> list = candidates_of(rules, question, agents.are_there);
  if (!arguments.has("no-predictions")) predict_times(machine, question, &list);
  for (const Candidate& candidate : list) candidates.push_back(to_json(candidate));
  for (const tuning::TableText& text : texts)
    tables.push_back({{"file", text.file}, {"source", text.source}});
  TableJson asked = to_json(question);
  if (arguments.has("graph")) asked["graph"] = arguments.text("graph");
  const TableJson answer = {
      {"question", std::move(asked)},
      {"choice", {{"algorithm", choice.text()}, {"source", choice.source}, {"reason", choice.reason}}},
      {"learning", learning_json(options, question, choice)},
      {"agents", to_json(agents, question)},
      {"considered", std::move(considered)},
      {"candidates", std::move(candidates)},
      {"machine", machine.name},
      {"tables", std::move(tables)},
      {"warnings", warnings}};
  std::puts(answer.dump(1, ' ', true, TableJson::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
