// SPDX-License-Identifier: BSD-3-Clause
// The report as a short text, for who has asked for it without the command line: `UNISONO_REPORT=-`.
#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "base/options.h"
#include "base/version.h"
#include "runtime/reports/report.h"
#include "tuning/decisions/size_class.h"

namespace unisono::runtime {
namespace {

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

std::string learned_time_text(double seconds) {
  if (seconds == tuning::unknown_s) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  return text;
}

// An estimate says what is known: "about 1.2 ms", "between 1 ms and 1.4 ms", "at most 2 ms".
std::string in_collectives(const TimeOfRanks& time, double wall_s) {
  constexpr double small = 0.05, large = 0.5;  // errors, of the time
  if (time.error_s == 0) return time_text(time.most_s);
  if (time.error_s <= small * time.most_s) return "about " + time_text(time.most_s);
  const std::string most = time_text(std::min(time.most_s + time.error_s, wall_s));
  if (time.error_s <= large * time.most_s)
    return "between " + time_text(time.most_s - time.error_s) + " and " + most;
  return "at most " + most + " (too few calls were timed to say more)";
}

// What is longer than its column keeps its whole length.
std::string row(const std::string& operation, const std::string& bytes, const std::string& where,
                const std::string& calls, const std::string& time, const std::string& per_call) {
  std::ostringstream row;
  row << std::left << "  " << std::setw(10) << operation << ' ' << std::setw(8) << bytes << ' '
      << std::setw(24) << where << std::right << ' ' << std::setw(10) << calls << ' ' << std::setw(11) << time
      << ' ' << std::setw(11) << per_call << "  ";
  return row.str();
}

// Why Unisono may have sent none: over several nodes they are its own with one value of option messages
// alone.
std::string why_none_sent(const JobFacts& facts) {
  std::vector<std::string> ignored;
  if (facts.messages->sent != 0 || facts.node_names.size() < 2 ||
      options_from_text(facts.options, &ignored).messages == "all")
    return "";
  return ", as communicators over several nodes are the MPI's ('all' of option 'messages' carries them)";
}

std::string messages_line(const JobFacts& facts) {
  const MessageTotals& of = *facts.messages;
  std::ostringstream line;
  line << of.sent << " sent" << why_none_sent(facts) << "; longest queues of a rank: receives "
       << of.deepest_posted << ", messages " << of.deepest_unexpected;
  if (of.by_host != 0) line << "; the MPI carried the data of " << of.by_host << " long ones of a node";
  if (of.floods != 0) line << "; senders had to wait " << of.floods << " times (option 'unexpected_bytes')";
  return line.str();
}

// "served 40 allreduce by mpi, 2 bcast by ucc; started again 1 times", "none, as the job is on one node".
// Empty: nobody has asked for any.
std::string agents_line(const JobFacts& facts, const JobRecords& of_all) {
  const std::vector<AgentRecord>& records = of_all.by_agents;
  std::vector<std::string> ignored;
  const bool is_one_node = facts.node_names.size() == 1;
  if (!facts.agents_started_again) {
    if (options_from_text(facts.options, &ignored).agents == "0") return "";
    return is_one_node ? "none, as the job is on one node" : "none came to this job";
  }
  std::ostringstream line;
  line << (!records.empty() ? "served "
           : is_one_node    ? "served nothing, as the job is on one node"
                            : "served nothing");
  for (const AgentRecord& record : records)
    line << (&record == records.data() ? "" : ", ") << record.calls << " " << name(record.operation) << " by "
         << record.carrier;
  if (const AgentTimes& times = of_all.agent_times; times.calls != 0)
    line << "; timed on all ranks: " << times.calls << " calls, " << time_text(times.under_way_s)
         << " under way, " << time_text(times.waited_s) << " waited for";
  if (const int times = *facts.agents_started_again; times != 0)
    line << "; started again " << times << " times";
  return line.str();
}

// `bcast`, `ibcast`, `bcast_init`: as the program called it.
std::string operation_text(const ClassKey& key) {
  const std::string operation(name(key.operation));
  switch (key.form) {
    case CallForm::blocking:
      break;
    case CallForm::non_blocking:
      return "i" + operation;
    case CallForm::persistent:
      return operation + "_init";
  }
  return operation;
}

std::string class_row(const ClassRecord& record) {
  const double each_s = record.time_s / static_cast<double>(std::max<std::uint64_t>(record.calls, 1));
  return row(operation_text(record.key), tuning::class_label(record.key.size_class), record.key.shape,
             std::to_string(record.calls), time_text(record.time_s), time_text(each_s)) +
         record.key.algorithm + ": " + record.reason + '\n';
}

std::string checks_text(const std::vector<JobClass>& classes) {
  std::uint64_t checks = 0, mismatches = 0;
  for (const JobClass& of : classes) {
    checks += of.of_longest.checks;
    mismatches += of.of_longest.mismatches;
  }
  return "checked " + std::to_string(checks) + " calls against the MPI, " +
         (mismatches == 0 ? "all alike" : std::to_string(mismatches) + " of them were wrong");
}

bool is_verified(const std::string& lines) {
  std::vector<std::string> ignored;
  return options_from_text(lines, &ignored).verify != Options().verify;
}

std::string learned_line(const LearnedKind& kind) {
  std::string line = std::string(name(kind.operation)) + ' ' + tuning::class_label(kind.size_class) + ", " +
                     kind.shape + (kind.region.empty() ? "" : ", region " + kind.region) + ": " +
                     kind.chosen + ' ' + learned_time_text(kind.time_s);
  for (const LearnedCandidate& candidate : kind.candidates) {
    if (candidate.algorithm.name != kind.chosen)
      line += "; " + candidate.algorithm.name + ' ' + learned_time_text(candidate.time_s);
  }
  return line;
}

// What a kind of calls took less than the MPI's own would have, where both were timed: times and interval.
struct Saved {
  double best_s = 0, low_s = 0, high_s = 0;
  bool is_known = false;
};

void add_saved(const LearnedKind& kind, Saved* saved) {
  double native_s = tuning::unknown_s, spent_s = kind.measuring_overhead_s + kind.monitoring_overhead_s;
  double calls = 0;
  for (const LearnedCandidate& candidate : kind.candidates) {
    if (candidate.algorithm.is_native()) {
      native_s = candidate.time_s;
    } else if (candidate.time_s != tuning::unknown_s) {
      calls += static_cast<double>(candidate.calls);
      spent_s += static_cast<double>(candidate.calls) * candidate.time_s;
    }
  }
  if (native_s == tuning::unknown_s || calls == 0) return;
  saved->is_known = true;
  saved->best_s += calls * native_s - spent_s;
  saved->low_s += calls * native_s * (1 - kind.uncertainty) - spent_s;
  saved->high_s += calls * native_s * (1 + kind.uncertainty) - spent_s;
}

bool is_started(const JobClass& of) {
  return of.of_longest.key.form != CallForm::blocking;
}

// The last line: python/unisono/reporting/verdict.py says it of a report in a file.
std::string verdict(const JobFacts& facts, const JobRecords& records) {
  constexpr double little = 0.005;  // of the run
  const double spent_s = records.blocking.most_s;
  const bool has_little =
      records.classes.empty() || spent_s + records.blocking.error_s < little * facts.wall_s;
  if (has_little && std::ranges::any_of(records.classes, is_started))
    return "how much was saved is not known: waits for calls that do not block were not counted (option "
           "'profile' "
           "counts them)";
  if (has_little && facts.messages && facts.messages->sent != 0)
    return "how much was saved is not known: the MPI's own messages were not timed";
  if (has_little) return "nothing to gain: 0 % of the time was spent in collectives";
  Saved saved;
  for (const LearnedKind& kind : records.learned.kinds) add_saved(kind, &saved);
  if (!saved.is_known) return "how much was saved is not known: the MPI's own collectives were not timed";
  const auto signed_text = [](double s) {
    return std::string(s < 0 ? "-" : "").append(time_text(s < 0 ? -s : s));
  };
  const std::string interval =
      " (between " + signed_text(saved.low_s) + " and " + signed_text(saved.high_s) + ")";
  if (saved.low_s < 0 && saved.high_s > 0)
    return "no clear difference from the MPI's own collectives: " + signed_text(saved.best_s) + " saved" +
           interval;
  if (saved.best_s < 0) return "slower than the MPI's own collectives: " + time_text(-saved.best_s) + " lost";
  char times[32];
  std::snprintf(times, sizeof times, "%.2f", (spent_s + saved.best_s) / spent_s);
  return "about " + std::string(times) +
         " times as fast in collectives as the MPI alone: " + time_text(saved.best_s) + " of " +
         time_text(spent_s + saved.best_s) + " saved" + interval;
}

}  // namespace

std::string report_summary(const JobFacts& facts, const JobRecords& records) {
  std::ostringstream out;
  out << "unisono " << own_version() << ": " << facts.ranks << " ranks, " << facts.mpi << ", "
      << time_text(facts.wall_s) << ", of which " << in_collectives(records.blocking, facts.wall_s)
      << " in collectives\n";
  if (records.under_way.most_s != 0) {
    out << "  calls that do not block were under way for " << time_text(records.under_way.most_s)
        << " of it\n";
  }
  out << row("operation", "bytes", "where", "calls", "time", "per call") << "algorithm: reason\n";
  for (const JobClass& of : records.classes) out << class_row(of.of_longest);
  if (is_verified(facts.options)) out << "  " << checks_text(records.classes) << '\n';
  for (const NativeRecord& record : records.native) {
    out << "  left to the MPI: " << record.calls << " " << name(record.operation) << ": " << record.reason
        << '\n';
  }
  for (const LearnedKind& kind : records.learned.kinds) out << "  learned: " << learned_line(kind) << '\n';
  if (records.profile) out << profile_summary(*records.profile);
  if (!facts.machine.empty()) out << "  as measured on this machine: " << facts.machine << '\n';
  if (const std::string line = agents_line(facts, records); !line.empty())
    out << "  agents: " << line << '\n';
  if (facts.messages) out << "  messages: " << messages_line(facts) << '\n';
  for (const std::string& hint : facts.hints) out << "  hint: " << hint << '\n';
  for (const std::string& warning : facts.warnings) out << "  warning: " << warning << '\n';
  out << "  " << verdict(facts, records) << '\n';
  return out.str();
}

}  // namespace unisono::runtime
