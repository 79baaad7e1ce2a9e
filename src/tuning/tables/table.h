// SPDX-License-Identifier: BSD-3-Clause
// Tables (B4): which algorithm serves which calls, with the times that say so (docs/guide/tables.md). A rule
// that is wrong is left out of its table with the reason; the table holds without it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "tuning/decisions/algorithm_text.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {

// From the first to the last value, both included.
struct Range {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = 0;
  std::int64_t last = no_limit;

  bool contains(std::int64_t value) const { return first <= value && value <= last; }
  bool is_any() const { return first <= 0 && last == no_limit; }
  bool operator==(const Range&) const = default;
};

// Calls that a rule is for. What is not set holds for all.
struct Conditions {
  Operation operation = Operation::barrier;
  Range bytes;           // size_class.h says of what; a size class counts by its upper end
  Range nodes;           // of the communicator
  Range ranks_per_node;  // on its fullest node
  std::optional<bool> is_oversubscribed;
  std::optional<bool> is_consecutive;  // placement
  std::optional<bool> is_commutative;  // operator
  std::optional<bool> is_blocking;     // form
  std::string region;
  std::string mpi;  // as names_mpi() reads it

  bool operator==(const Conditions&) const = default;
};

// An algorithm and how long a call with it took: the median, of the slowest rank. 0: not measured.
struct Timed {
  NamedAlgorithm algorithm;
  double time_us = 0;
  std::optional<std::pair<double, double>> interval_us = {};  // 95 %
  std::int64_t samples = 0;
  double least_us = 0;  // the least that any job has seen such a time; 0: not known
};

// What stands behind a rule that was learned or tested (knowledge.h).
struct Evidence {
  std::int64_t trust = 0;  // grows with jobs that see the same, shrinks with those that cannot see it
  double uncertainty = 0;  // of the ratio of the chosen one's time and the expected one's, relative
  std::optional<NamedAlgorithm> expected;  // what would have served the calls without it
};

struct Rule {
  Conditions when;
  Timed chosen;
  std::vector<Timed> others;                   // The fastest first; native among them.
  std::string origin;                          // As in files: measured, tested, learned, predicted, written.
  std::optional<Evidence> evidence;            // None: it was not learned, or by a version that kept none.
  std::optional<std::int64_t> measured_bytes;  // The size at which the times were measured, if known.
  std::string note;
  // Of what jobs have kept: the day of the last one that has used it, "2026-11-27", and how many have.
  std::string used;
  std::int64_t jobs = 0;
  int number = 0;  // in its file, from 1
};

struct Provenance {
  std::string unisono, machine, mpi, date, command;
};

struct DisabledRule {
  int number;  // from 1
  std::string why;
};

struct Table {
  std::string file;  // its name in messages
  Provenance provenance;
  std::vector<Rule> rules;
  std::vector<DisabledRule> disabled;

  // One line for each disabled rule, and for the rest of very many.
  std::vector<std::string> warnings() const;
};

// `problem` says why the file is no table; empty: there is one.
struct ReadTable {
  Table table;
  std::string problem;
};
ReadTable table_from_text(std::string_view text, const std::string& file);
ReadTable table_from_file(const std::string& file);
// The file's content; what went wrong, or empty.
std::string read_table_file(const std::string& file, std::string* text);

// "table site.json: all of its rules are for other MPIs (Open MPI 5), this is MPICH 5.0.2", or empty.
std::string only_for_others(const Table& table, std::string_view mpi);

// Nodes and ranks per node: "4x8", "2-4x8", "*x8".
std::string layout_text(const Conditions& when);

inline constexpr std::string_view application_source = "application table";
inline constexpr std::string_view learned_source = "learned";
inline constexpr std::string_view site_source = "site table";

// Where a table comes from; the first one's rules come first.
struct SourcedTable {
  std::string_view source;  // one of these
  Table table;
};

// Rules that suit a question: those whose conditions hold, then near ones (docs/guide/tables.md).
class TableRules {
 public:
  explicit TableRules(std::vector<SourcedTable> tables);
  TableRules(const TableRules&) = delete;  // matches point into it
  TableRules(TableRules&&) = default;

  struct Match {
    const Rule* rule;
    const SourcedTable* table;
    bool is_near;  // else all conditions hold
  };
  std::vector<Match> matches(const Question& question) const;  // in order of preference

 private:
  struct Entry {
    const Rule* rule;
    const SourcedTable* table;
    int first_class, last_class;  // size classes that end within its bytes
  };
  std::vector<SourcedTable> tables_;
  std::vector<Entry> by_operation_[operation_count];
};

// Where a match stands, and what it was tuned for where it is only near: "app.json rule 3, tuned at 4x4, used
// at 4x6".
std::string where_from(const TableRules::Match& match, const Question& question);
// The size class at which the rule's times were measured, where that is known and another one than the
// question's; else empty.
std::string measured_elsewhere(const Rule& rule, const Question& question);
// How long the MPI's own took where the rule was measured; 0: nobody knows.
double native_time_us(const Rule& rule);
std::unique_ptr<Chooser> make_tables(std::vector<SourcedTable> tables);

// What jobs and the command line decide by: the user's word (option `algorithm`), tables, built-in rules.
Decider standard_decider(std::string_view forced, std::vector<SourcedTable> tables,
                         std::vector<std::string>* warnings);

}  // namespace unisono::tuning
