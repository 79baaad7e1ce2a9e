// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/json_text.h"
#include "base/options.h"
#include "base/shown.h"
#include "base/write_signals.h"
#include "runtime/communicators/call_queue.h"
#include "runtime/reports/report_learning.h"

namespace unisono::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> form_names = {"blocking", "non-blocking", "persistent"};

constexpr int text_tag = 0;  // no collective is under way where texts travel

// Of all ranks' entries with equal keys: the largest counts, the largest and the mean time.
void merge_class(Json& merged, const Json& entry, std::size_t ranks) {
  for (const char* key : {"calls", "bytes", "checks", "mismatches"})
    merged[key] = std::max(merged[key].get<std::uint64_t>(), entry[key].get<std::uint64_t>());
  const double time_s = entry["time_s"];
  if (time_s > merged["time_s"].get<double>()) {
    merged["time_s"] = time_s;
    merged["time_error_s"] = entry["time_error_s"];
  }
  merged["time_mean_s"] = merged["time_mean_s"].get<double>() + time_s / static_cast<double>(ranks);
  merged["sampled"] = merged["sampled"].get<bool>() || entry["sampled"].get<bool>();
}

void add(CallTimes::Sum* sum, const CallTimes::Sum& more) {
  sum->measured_s += more.measured_s;
  sum->estimated_s += more.estimated_s;
  sum->error_s = std::hypot(sum->error_s, more.error_s);
}

// Of all ranks' times the longest one, with its error, and the mean.
struct Spread {
  void add(double seconds, double its_error_s) {
    ++ranks;
    sum_s += seconds;
    if (seconds <= most_s) return;
    most_s = seconds;
    error_s = its_error_s;
  }
  double mean_s() const { return ranks == 0 ? 0 : sum_s / ranks; }
  int ranks = 0;
  double most_s = 0, error_s = 0, sum_s = 0;
};

Json parsed(const std::vector<std::string>& texts) {
  Json array = Json::array();
  for (const std::string& text : texts) array.push_back(Json::parse(text));
  return array;
}

std::string ppn_text(const patterns::Layout& layout) {
  if (layout.is_uniform()) return std::to_string(layout.local_size(0));
  std::string text;
  for (const std::vector<int>& ranks : layout.ranks_of) {
    if (!text.empty()) text += ',';
    text += std::to_string(ranks.size());
  }
  return text;
}

// Names come from the program, in whatever encoding.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string identity(const Json& entry, std::initializer_list<const char*> keys) {
  std::string id;
  for (const char* key : keys) id += entry[key].dump() + "|";
  return id;
}

Json non_default_options(const std::string& lines) {
  std::vector<std::string> ignored;
  const Options given = options_from_text(lines, &ignored), standard;
  Json options = Json::object();
  for (const OptionSpec& spec : option_list()) {
    if (spec.get(given) != spec.get(standard)) options[std::string(spec.name)] = spec.get(given);
  }
  return options;
}

std::string time_text(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  }
  return text;
}

// "~1.2 ms (+-0.1 ms)", where it is an estimate.
std::string in_collectives(const Json& time) {
  const double error_s = time["error"];
  const std::string text = time_text(time["max"]);
  return error_s == 0 ? text : "~" + text + " (+-" + time_text(error_s) + ")";
}

// What is longer than its column keeps its whole length.
std::string summary_row(const std::string& operation, const std::string& bytes, const std::string& where,
                        const std::string& calls, const std::string& time, const std::string& per_call) {
  std::ostringstream row;
  row << std::left << "  " << std::setw(10) << operation << ' ' << std::setw(8) << bytes << ' '
      << std::setw(24) << where << std::right << ' ' << std::setw(10) << calls << ' ' << std::setw(11) << time
      << ' ' << std::setw(11) << per_call << "  ";
  return row.str();
}

std::string checks_text(const Json& classes) {
  std::uint64_t checks = 0, mismatches = 0;
  for (const Json& c : classes) {
    checks += c["checks"].get<std::uint64_t>();
    mismatches += c["mismatches"].get<std::uint64_t>();
  }
  return "checked " + std::to_string(checks) + " calls against the MPI, " +
         (mismatches == 0 ? "all alike" : std::to_string(mismatches) + " of them were wrong");
}

std::string summary(const Json& report) {
  std::ostringstream out;
  out << "unisono " << report["unisono"].get<std::string>() << ": " << report["ranks"] << " ranks, "
      << report["mpi"].get<std::string>() << ", " << time_text(report["wall_s"]) << ", of which "
      << in_collectives(report["collective_time_s"]) << " in collectives\n";
  if (report["under_way_time_s"]["max"] != 0.0) {
    out << "  calls that do not block were under way for " << time_text(report["under_way_time_s"]["max"])
        << " of it\n";
  }
  out << summary_row("operation", "bytes", "where", "calls", "time", "per call") << "algorithm: reason\n";
  for (const Json& c : report["classes"]) {
    const double time_s = c["time_s"];
    const auto calls = c["calls"].get<std::uint64_t>();
    auto operation = c["operation"].get<std::string>();
    if (c["form"] == form_names[1]) operation.insert(0, 1, 'i');
    if (c["form"] == form_names[2]) operation += "_init";
    out << summary_row(operation, c["size_class"].get<std::string>(), c["shape"].get<std::string>(),
                       std::to_string(calls), time_text(time_s),
                       time_text(time_s / static_cast<double>(std::max<std::uint64_t>(calls, 1))))
        << c["algorithm"].get<std::string>() << ": " << c["reason"].get<std::string>() << '\n';
  }
  if (report["options"].contains("verify")) out << "  " << checks_text(report["classes"]) << '\n';
  for (const Json& n : report["native"]) {
    out << "  left to the MPI: " << n["calls"] << " " << n["operation"].get<std::string>() << ": "
        << n["reason"].get<std::string>() << '\n';
  }
  for (const Json& l : report["learning"]) out << "  learned: " << learning_line(l) << '\n';
  if (report.contains("measured_here"))
    out << "  as measured on this machine: " << report["measured_here"].get<std::string>() << '\n';
  for (const Json& h : report["hints"]) out << "  hint: " << h.get<std::string>() << '\n';
  for (const Json& w : report["warnings"]) out << "  warning: " << w.get<std::string>() << '\n';
  return out.str();
}

}  // namespace

std::uint64_t Records::absorb(const Communicator& c, Operation operation, int size_class,
                              const CallClass& entry, CallForm form) {
  if (entry.kind == CallClass::Kind::learned) return absorb_learned(c, operation, size_class, *entry.learned);
  const std::uint64_t by_stand_in =
      entry.stand_in == nullptr ? 0 : absorb(c, operation, size_class, *entry.stand_in, form);
  if (entry.calls == 0) return by_stand_in;
  absorb_class(
      c, {shape_of(c), static_cast<int>(operation), size_class, std::string(entry.choice->name()), form},
      entry);
  return entry.calls + by_stand_in;
}

// The candidates are classes as others are. What was learned is the same on all ranks: one tells it.
std::uint64_t Records::absorb_learned(const Communicator& c, Operation operation, int size_class,
                                      const LearnedClass& learned) {
  std::uint64_t calls = 0;
  for (const CallClass& entry : learned.blocking)
    calls += absorb(c, operation, size_class, entry, CallForm::blocking);
  for (const CallClass& entry : learned.non_blocking)
    calls += absorb(c, operation, size_class, entry, CallForm::non_blocking);
  for (const CallClass& entry : learned.persistent)
    calls += absorb(c, operation, size_class, entry, CallForm::persistent);
  if (c.rank == 0) leans_.add(learned.leans_on, confirmation_of(learned));
  if (c.rank == 0 && learned_.size() < most_learned)
    learned_.push_back(text_of(learning_json(c, operation, size_class, learned)));
  return calls;
}

void Records::describe(const Communicator& c, const tuning::Choice& choice, Record* record) {
  record->parameters = parameter_text(choice.parameters);
  record->reason = choice.reason;
  record->source = choice.source;
  record->layout = c.layout->text();
  record->is_oversubscribed = c.is_oversubscribed;
  if (c.rank == 0) leans_.add(choice.leans_on, tuning::Confirmation::none);
}

std::shared_ptr<HostStarts> Records::starts_of_host(const Communicator& c, Operation operation,
                                                    int size_class, const tuning::Choice& choice) {
  Left& left = left_[{shape_of(c), static_cast<int>(operation), size_class, std::string(choice.name()),
                      CallForm::persistent}];
  describe(c, choice, &left.record);
  return left.starts;
}

std::shared_ptr<HostStarts> Records::starts_of_host(Operation operation, NativeReason reason) {
  auto& starts = left_for_[{operation, reason}];
  if (starts == nullptr) starts = std::make_shared<HostStarts>();
  return starts;
}

void Records::absorb_starts() {
  for (auto& [key, left] : left_) {
    const std::uint64_t calls = left.starts->calls.exchange(0);
    if (calls == 0) continue;
    Record& record = classes_.try_emplace(key, left.record).first->second;
    record.calls += calls;
    record.bytes += left.starts->bytes.exchange(0);
  }
  for (auto& [key, starts] : left_for_) add_native(key.first, key.second, starts->calls.exchange(0));
}

void Records::absorb_class(const Communicator& c, const Key& key, const CallClass& entry) {
  Record& record = classes_[key];
  record.calls += entry.calls;
  record.bytes += entry.bytes;
  record.checks += entry.checks;
  record.mismatches += entry.mismatches;
  add(&record.time, entry.times.of(entry.calls));
  record.is_sampled = record.is_sampled || entry.times.count() < entry.calls;
  describe(c, *entry.choice, &record);
}

void Records::absorb(const Communicator& c) {
  std::uint64_t calls = c.persistent_starts == nullptr ? 0 : c.persistent_starts->load();
  const auto absorb_tables = [&](const OperationTables& tables, Operation operation, CallForm form) {
    const auto& table = tables[static_cast<std::size_t>(operation)];
    if (table != nullptr) calls += absorb_classes(c, *table, operation, form);
  };
  for (int op = 0; op < operation_count; ++op) {
    const auto operation = static_cast<Operation>(op);
    add_native(operation, c.native_reason, c.native_calls[op]);
    add_native(operation, NativeReason::few_calls, c.early_calls[op]);
    calls += c.native_calls[op] + c.early_calls[op];
    absorb_tables(c.classes, operation, CallForm::blocking);
    for (const auto& [region, tables] : c.region_classes)
      absorb_tables(tables, operation, CallForm::blocking);
    if (c.queue == nullptr) continue;
    absorb_tables(c.queue->classes, operation, CallForm::non_blocking);
    absorb_tables(c.queue->persistent, operation, CallForm::persistent);
  }
  if (calls != 0 && communicators_.size() < most_communicators) {
    communicators_.push_back(
        {c.id, c.name, c.layout ? ppn_text(*c.layout) : "", c.size, c.layout ? c.layout->nodes() : 1, calls});
  }
}

void Records::add_native(Operation operation, NativeReason reason, std::uint64_t calls) {
  if (calls != 0) native_[{static_cast<int>(operation), std::string(runtime::describe(reason))}] += calls;
}

std::uint64_t Records::absorb_classes(const Communicator& c, const ClassTable& table, Operation operation,
                                      CallForm form) {
  std::uint64_t calls = 0;
  for (const auto& by_class : table) {
    for (int size_class = 0; size_class < tuning::size_class_count; ++size_class) {
      calls += absorb(c, operation, size_class, by_class[static_cast<std::size_t>(size_class)], form);
    }
  }
  return calls;
}

CallTimes::Sum Records::blocking_time() const {
  CallTimes::Sum sum;
  for (const auto& [key, record] : classes_) {
    if (key.form == CallForm::blocking) add(&sum, record.time);
  }
  return sum;
}

std::string Records::to_text(const RankTime& rank_time) const {
  const CallTimes::Sum blocking = blocking_time();
  // Several threads may really have spent more than the time that passed.
  const double left_s = std::max(rank_time.wall_s - blocking.measured_s, 0.0);
  const double share = blocking.estimated_s > left_s ? left_s / blocking.estimated_s : 1;
  const auto time_of = [share](const CallTimes::Sum& time, CallForm form) {
    return time.measured_s + (form == CallForm::blocking ? share : 1) * time.estimated_s;
  };
  Json out = {{"classes", Json::array()},
              {"native", Json::array()},
              {"communicators", Json::array()},
              {"learning", parsed(learned_)},
              {"leans", tuning::to_json(leans_.list())},
              {"blocking_s", std::min(time_of(blocking, CallForm::blocking), rank_time.wall_s)},
              {"blocking_error_s", std::min(blocking.error_s, rank_time.wall_s)},
              {"under_way_s", rank_time.under_way_s}};
  for (const auto& [key, r] : classes_) {
    out["classes"].push_back({{"shape", key.shape},
                              {"layout", r.layout},
                              {"oversubscribed", r.is_oversubscribed},
                              {"operation", std::string(name(static_cast<Operation>(key.operation)))},
                              {"form", form_names[static_cast<std::size_t>(key.form)]},
                              {"size_class", tuning::class_label(key.size_class)},
                              {"bytes_low", tuning::class_low(key.size_class)},
                              {"bytes_high", tuning::class_high(key.size_class)},
                              {"calls", r.calls},
                              {"bytes", r.bytes},
                              {"checks", r.checks},
                              {"mismatches", r.mismatches},
                              {"time_s", time_of(r.time, key.form)},
                              {"time_mean_s", 0.0},
                              {"time_error_s", std::min(r.time.error_s, rank_time.wall_s)},
                              {"sampled", r.is_sampled},
                              {"algorithm", key.algorithm},
                              {"parameters", parameter_json(r.parameters)},
                              {"reason", r.reason},
                              {"source", r.source}});
  }
  for (const auto& [key, calls] : native_) {
    out["native"].push_back({{"operation", std::string(name(static_cast<Operation>(key.first)))},
                             {"calls", calls},
                             {"reason", key.second}});
  }
  for (const Seen& s : communicators_) {
    out["communicators"].push_back({{"id", s.id},
                                    {"name", s.name},
                                    {"size", s.size},
                                    {"nodes", s.nodes},
                                    {"ppn", s.ppn},
                                    {"calls", s.calls}});
  }
  return text_of(out);
}

std::string Records::learning_text() const {
  if (learned_.empty() && leans_.empty()) return {};
  const Json out = {{"learning", parsed(learned_)}, {"leans", tuning::to_json(leans_.list())}};
  return text_of(out);
}

std::string Records::merge(const std::vector<std::string>& texts) {
  std::map<std::string, Json> classes, native, communicators;
  Spread blocking, under_way;
  std::vector<Json> learning;
  for (const std::string& text : texts) {
    const Json rank = Json::parse(text);
    blocking.add(rank["blocking_s"], rank["blocking_error_s"]);
    under_way.add(rank["under_way_s"], 0);
    for (const Json& entry : rank["classes"]) {
      Json& merged =
          classes
              .try_emplace(identity(entry, {"shape", "operation", "form", "bytes_high", "algorithm"}), entry)
              .first->second;
      merge_class(merged, entry, texts.size());
    }
    for (const Json& entry : rank["native"]) {
      Json& merged = native.try_emplace(identity(entry, {"operation", "reason"}), entry).first->second;
      merged["calls"] = std::max(merged["calls"].get<std::uint64_t>(), entry["calls"].get<std::uint64_t>());
    }
    for (const Json& entry : rank["communicators"]) {
      communicators.try_emplace(identity(entry, {"name", "size", "ppn", "id"}), entry);
    }
    for (const Json& entry : rank["learning"]) learning.push_back(entry);
  }
  Json out = {{"communicators", Json::array()}, {"classes", Json::array()}, {"native", Json::array()}};
  for (auto& [id, entry] : communicators) {
    if (out["communicators"].size() < most_communicators) out["communicators"].push_back(std::move(entry));
  }
  std::vector<Json> by_time;
  for (auto& [id, entry] : classes) by_time.push_back(std::move(entry));
  std::stable_sort(by_time.begin(), by_time.end(), [](const Json& a, const Json& b) {
    return a["time_s"].get<double>() > b["time_s"].get<double>();
  });
  for (Json& entry : by_time) out["classes"].push_back(std::move(entry));
  for (auto& [id, entry] : native) out["native"].push_back(std::move(entry));
  keep_most_important(&learning);
  out["learning"] = learning;
  out["collective_time_s"] = {
      {"max", blocking.most_s}, {"mean", blocking.mean_s()}, {"error", blocking.error_s}};
  out["under_way_time_s"] = {{"max", under_way.most_s}, {"mean", under_way.mean_s()}};
  return text_of(out);
}

std::vector<std::string> gather_texts(host::Host& host, host::Comm world, const std::string& text) {
  const auto size = static_cast<std::size_t>(host.comm_size(world));
  const bool is_first = host.comm_rank(world) == 0;
  const std::uint64_t length = text.size();
  std::vector<std::uint64_t> lengths(is_first ? size : 0);
  if (host.gather_bytes(&length, sizeof length, lengths.data(), 0, world) != host::success) return {};
  const auto wait = [&](host::Request request) {
    bool is_done = false;
    while (host.test(&request, &is_done) == host::success && !is_done) std::this_thread::yield();
    return is_done;
  };
  host::Request request{};
  if (!is_first) {
    // One after the other: the first rank takes texts in the order of the ranks, and has no memory for more.
    if (length != 0 && host.isend(text.data(), length, 0, text_tag, world, &request) == host::success)
      wait(request);
    return {};
  }
  std::vector<std::string> texts = {text};
  for (std::size_t r = 1; r < size; ++r) {
    std::string& theirs = texts.emplace_back(lengths[r], ' ');
    if (lengths[r] == 0) continue;
    const int source = static_cast<int>(r);
    if (host.irecv(theirs.data(), lengths[r], source, text_tag, world, &request) != host::success ||
        !wait(request))
      return {};
  }
  return texts;
}

std::string write_report(const std::string& where, const JobFacts& facts,
                         const std::vector<std::string>& texts) {
  Json report = {{"schema", "unisono-report"}, {"version", 1},           {"unisono", UNISONO_VERSION},
                 {"mpi", facts.mpi},           {"family", facts.family}, {"ranks", facts.ranks},
                 {"wall_s", facts.wall_s}};
  for (std::size_t n = 0; n < facts.node_names.size(); ++n) {
    report["nodes"].push_back({{"name", facts.node_names[n]}, {"ranks", facts.node_ranks[n]}});
  }
  report["usable_cores"] = facts.node_cores;
  report["options"] = non_default_options(facts.options);
  report.update(Json::parse(Records::merge(texts)));
  if (!facts.machine.empty()) report["measured_here"] = facts.machine;
  report["warnings"] = facts.warnings;
  report["hints"] = facts.hints;
  if (where == "-") {
    const std::string text = shown(summary(report));
    const WithoutWriteSignals without_signals;
    std::fwrite(text.data(), 1, text.size(), stderr);
    return {};
  }
  const std::string problem = replace_file(where, json_text(report, 2) + '\n');
  return problem.empty() ? problem : "the report " + where + " " + problem;
}

}  // namespace unisono::runtime
