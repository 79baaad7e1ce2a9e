// SPDX-License-Identifier: BSD-3-Clause
// Which rules suit a call: those whose conditions hold, then near ones. Whole numbers alone decide, so that
// ranks on different hosts never round apart.
#include <algorithm>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "tuning/decisions/size_class.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_between.h"

namespace unisono::tuning {
namespace {

// How far outside of a range a value lies: their quotient, 1 or more.
struct Factor {
  std::uint64_t above = 1, below = 1;

  bool is_at_most(std::uint64_t bound) const { return above <= bound * below; }
  Factor operator*(const Factor& other) const { return {above * other.above, below * other.below}; }
  std::strong_ordering operator<=>(const Factor& other) const {
    return static_cast<unsigned __int128>(above) * other.below <=>
           static_cast<unsigned __int128>(other.above) * below;
  }
  bool operator==(const Factor& other) const { return (*this <=> other) == std::strong_ordering::equal; }
};

constexpr std::uint64_t most_layout_factor = 2, most_size_factor = 4;

// Of nodes, or of ranks per node. One of them is another world than several: messages between nodes begin
// there, or shared memory.
std::optional<Factor> factor(const Range& range, std::int64_t value) {
  if (range.contains(value)) return Factor{};
  const std::int64_t nearest = value < range.first ? range.first : range.last;
  if (value <= 1 || nearest <= 1) return std::nullopt;
  const auto a = static_cast<std::uint64_t>(nearest), b = static_cast<std::uint64_t>(value);
  const Factor found = a > b ? Factor{a, b} : Factor{b, a};
  return found.is_at_most(most_layout_factor) ? std::optional(found) : std::nullopt;
}

// Classes whose upper ends lie in the range.
struct Classes {
  int first = size_class_count, last = -1;
};
Classes classes_of(const Range& bytes) {
  Classes classes;
  for (int c = 0; c < size_class_count; ++c) {
    if (!bytes.contains(class_high(c))) continue;
    classes.first = std::min(classes.first, c);
    classes.last = c;
  }
  return classes;
}

std::optional<Factor> size_factor(const Classes& classes, int size_class) {
  if (size_class >= classes.first && size_class <= classes.last) return Factor{};
  const int nearest = size_class < classes.first ? classes.first : classes.last;
  if (size_class == 0 || nearest <= 0) return std::nullopt;
  const int doublings = std::abs(size_class - nearest);
  constexpr int most_doublings = 2;
  static_assert(most_size_factor == 1 << most_doublings);
  if (doublings > most_doublings) return std::nullopt;
  return Factor{std::uint64_t{1} << doublings, 1};
}

bool holds(const std::optional<bool>& asked, bool is_so) {
  return !asked || *asked == is_so;
}

// Where the MPI is not known (`unisono explain` without --mpi) every MPI's rules count.
bool words_hold(const Conditions& when, const Question& question) {
  return (when.mpi.empty() || question.mpi.empty() || names_mpi(when.mpi, question.mpi)) &&
         (when.region.empty() || when.region == question.region) &&
         holds(when.is_blocking, question.is_blocking) &&
         holds(when.is_oversubscribed, question.is_oversubscribed) &&
         (!when.is_commutative || *when.is_commutative == question.problem.is_commutative) &&
         (!when.is_consecutive || *when.is_consecutive == question.problem.layout->is_consecutive());
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.3g" : "%.0f", value);
  return text;
}

std::string range_text(const Range& range) {
  if (range.first <= 1 && range.last == Range::no_limit) return "*";
  if (range.first == range.last) return std::to_string(range.first);
  if (range.last == Range::no_limit) return std::to_string(range.first) + "+";
  return std::to_string(std::max<std::int64_t>(range.first, 1)) + "-" + std::to_string(range.last);
}

std::string sizes_text(const Range& bytes) {
  const Classes classes = classes_of(bytes);
  if (bytes.last == Range::no_limit) return class_label(classes.first) + " and more";
  if (classes.first == classes.last) return class_label(classes.first);
  return class_label(classes.first) + " to " + class_label(classes.last);
}

// "4x6": where a rule is used.
std::string own_layout_text(const Question& question) {
  return std::to_string(question.problem.layout->nodes()) + "x" + std::to_string(question.largest_node());
}

// "tuned at 4x4 and 64 KiB, used at 4x6 and 128 KiB": what differs.
std::string near_text(const Conditions& when, const Question& question) {
  const int nodes = question.problem.layout->nodes();
  const int ranks = question.largest_node();
  const bool is_other_layout = !when.nodes.contains(nodes) || !when.ranks_per_node.contains(ranks);
  std::string there, here;
  if (is_other_layout) {
    there = layout_text(when);
    here = own_layout_text(question);
  }
  if (!when.bytes.contains(question.bytes())) {
    const char* joint = is_other_layout ? " and " : "";
    there += joint + sizes_text(when.bytes);
    here += joint + class_label(question.size_class);
  }
  return "tuned at " + there + ", used at " + here;
}

const std::string& file_of(const TableRules::Match& match) {
  return match.table->table.file;
}

// ": measured 12.3 us, native 20.1 us at 64 KiB"; of another size class than that it has no times to tell.
std::string times_text(const Rule& rule, const Timed& timed, const Question& question) {
  if (timed.time_us == 0) return {};
  const std::string origin = rule.origin == "written" ? "timed" : rule.origin;
  const std::string measured_at = measured_elsewhere(rule, question);
  if (!measured_at.empty()) return ": " + origin + " at " + measured_at;
  std::string text = rule.origin == "written" ? ": " : ": " + rule.origin + " ";
  text += number_text(timed.time_us) + " us";
  const double native_us = native_time_us(rule);
  if (native_us > 0 && timed.algorithm.algorithm != nullptr)
    text += ", native " + number_text(native_us) + " us";
  const Classes classes = classes_of(rule.when.bytes);
  if (rule.measured_bytes && classes.first != classes.last) text += " at " + class_label(question.size_class);
  return text;
}

// Of matches, those that jobs have kept.
std::vector<LeanedOn> kept_of(const std::vector<TableRules::Match>& matches) {
  std::vector<LeanedOn> list;
  for (const TableRules::Match& match : matches) {
    if (match.table->source == learned_source)
      list.push_back({match.rule, &match.table->table.file, match.is_near});
  }
  return list;
}

// What would be chosen anyway leans on nothing. Other choices lean on all rules around them that say
// something else: where one is not believed any more another one would decide. Their reason says for how long
// they hold.
void say_leaning(const std::vector<TableRules::Match>& matches, const Question& question,
                 std::vector<Choice>* list) {
  const NamedAlgorithm expected = expected_of(matches, question);
  std::vector<LeanedOn> all = kept_of(matches);
  std::erase_if(all, [&](const LeanedOn& of) {
    return is_same(of.rule->chosen.algorithm, expected) ||
           worth_of(*of.rule, question, expected) != Worth::decides;
  });
  for (Choice& choice : *list) {
    const std::vector<LeanedOn> deciding = std::exchange(choice.leans_on, {});
    if (deciding.empty() || is_same({choice.algorithm, choice.parameters}, expected)) continue;
    std::int64_t trust = most_trust;
    for (const LeanedOn& of : deciding) {
      const std::int64_t of_rule = of.rule->evidence ? of.rule->evidence->trust : 0;
      trust = std::min(trust, std::max(of_rule, std::int64_t{1}));
    }
    choice.reason += "; for " + std::to_string(trust) + " more " + (trust == 1 ? "job" : "jobs") +
                     " that do not measure it again";
    choice.leans_on = all;
  }
}

// "app.json rule 1 and rule 4, tuned at 1x4 and 1x16, used at 1x8: interpolated 12.3 us, native 20.1 us".
void add_interpolated(const Between& between, const Question& question, std::vector<Choice>* list) {
  const auto& [low, high, times] = between;
  const auto native =
      std::ranges::find_if(times, [](const Timed& timed) { return timed.algorithm.algorithm == nullptr; });
  const std::string where = file_of(*low) + " rule " + std::to_string(low->rule->number) + " and " +
                            (high->table == low->table ? "" : file_of(*high) + " ") + "rule " +
                            std::to_string(high->rule->number) + ", tuned at " +
                            layout_text(low->rule->when) + " and " + layout_text(high->rule->when) +
                            ", used at " + own_layout_text(question);
  for (const Timed& timed : times) {
    std::string reason = where + (&timed == &times.front() ? "" : ", the next best") + ": interpolated " +
                         number_text(timed.time_us) + " us";
    if (native != times.end() && &*native != &timed)
      reason += ", native " + number_text(native->time_us) + " us";
    list->push_back({.algorithm = timed.algorithm.algorithm,
                     .parameters = timed.algorithm.parameters,
                     .reason = std::move(reason),
                     .source = low->table->source,
                     .leans_on = kept_of({*low, *high})});
  }
}

// Of one layout and one size class, and not a neighbour of these.
bool is_exact(const TableRules::Match& match) {
  const Conditions& when = match.rule->when;
  const Classes classes = classes_of(when.bytes);
  return !match.is_near && when.nodes.first == when.nodes.last &&
         when.ranks_per_node.first == when.ranks_per_node.last && classes.first == classes.last;
}

class TableChooser : public Chooser {
 public:
  explicit TableChooser(std::vector<SourcedTable> tables) : rules_(std::move(tables)) {}

  std::vector<Choice> candidates(const Question& question) override {
    const std::vector<TableRules::Match> all = rules_.matches(question);
    const std::vector<TableRules::Match> matches = believed(all, question);
    std::vector<TableRules::Match> near;
    std::ranges::copy_if(matches, std::back_inserter(near), &TableRules::Match::is_near);
    std::vector<Choice> list;
    if (const auto between = between_rules(matches, question, class_high(question.size_class)))
      add_interpolated(*between, question, &list);
    for (const TableRules::Match& match : matches) {
      const Rule& rule = *match.rule;
      const std::string where = where_from(match, question);
      const auto add = [&](const Timed& timed, const std::string& what) {
        list.push_back({.algorithm = timed.algorithm.algorithm,
                        .parameters = timed.algorithm.parameters,
                        .reason = where + what + times_text(rule, timed, question),
                        .source = match.table->source,
                        .is_exact = is_exact(match),
                        .is_tested = is_exact(match) && rule.origin == "tested",
                        .leans_on = match.table->source != learned_source ? std::vector<LeanedOn>()
                                    : match.is_near                       ? kept_of(near)
                                                                          : kept_of({match})});
      };
      add(rule.chosen, "");
      list.back().is_asked_for = !match.is_near;
      // Where that is not legal the next best of what was measured beside it is.
      for (const Timed& other : rule.others) {
        if (other.time_us > 0) add(other, ", the next best");
      }
    }
    if (std::ranges::any_of(list, [](const Choice& choice) { return !choice.leans_on.empty(); }))
      say_leaning(all, question, &list);
    const bool may_be_replaced =
        question.may_be_tested && !list.empty() && !list[0].is_exact && list[0].algorithm != nullptr;
    if (may_be_replaced) std::ranges::stable_partition(list, &Choice::is_tested);
    return list;
  }

 private:
  TableRules rules_;
};

}  // namespace

TableRules::TableRules(std::vector<SourcedTable> tables) : tables_(std::move(tables)) {
  for (const SourcedTable& sourced : tables_) {
    for (const Rule& rule : sourced.table.rules) {
      const Classes classes = classes_of(rule.when.bytes);
      by_operation_[static_cast<int>(rule.when.operation)].push_back(
          {&rule, &sourced, classes.first, classes.last});
    }
  }
}

std::vector<TableRules::Match> TableRules::matches(const Question& question) const {
  struct Found {
    Factor distance;
    std::pair<bool, bool> is_general;  // for all regions, for all MPIs
    Match match;
  };
  std::vector<Found> found;
  const int nodes = question.problem.layout->nodes();
  const int ranks = question.largest_node();
  for (const Entry& entry : by_operation_[static_cast<int>(question.problem.operation)]) {
    const auto of_size = size_factor({entry.first_class, entry.last_class}, question.size_class);
    if (!of_size) continue;
    const Conditions& when = entry.rule->when;
    const auto of_nodes = factor(when.nodes, nodes);
    const auto of_ranks = factor(when.ranks_per_node, ranks);
    if (!of_nodes || !of_ranks || !words_hold(when, question)) continue;
    const Factor distance = *of_nodes * *of_ranks * *of_size;
    found.push_back(
        {distance, {when.region.empty(), when.mpi.empty()}, {entry.rule, entry.table, distance > Factor{}}});
  }
  std::ranges::stable_sort(found, [](const Found& a, const Found& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.is_general < b.is_general;
  });
  std::vector<Match> list;
  for (const Found& f : found) list.push_back(f.match);
  return list;
}

std::string layout_text(const Conditions& when) {
  return range_text(when.nodes) + "x" + range_text(when.ranks_per_node);
}

std::string only_for_others(const Table& table, std::string_view mpi) {
  std::set<std::string> others;
  for (const Rule& rule : table.rules) {
    if (rule.when.mpi.empty() || names_mpi(rule.when.mpi, mpi)) return {};
    others.insert(rule.when.mpi);
  }
  if (others.empty()) return {};
  std::string names;
  for (const std::string& name : others) names += (names.empty() ? "" : ", ") + name;
  return "table " + table.file + ": all of its rules are for other MPIs (" + names + "), this is " +
         std::string(mpi);
}

std::string where_from(const TableRules::Match& match, const Question& question) {
  const std::string text = file_of(match) + " rule " + std::to_string(match.rule->number);
  return match.is_near ? text + ", " + near_text(match.rule->when, question) : text;
}

std::string measured_elsewhere(const Rule& rule, const Question& question) {
  if (!rule.measured_bytes) return {};
  const int measured = size_class(*rule.measured_bytes);
  return measured == question.size_class ? std::string() : class_label(measured);
}

double native_time_us(const Rule& rule) {
  if (rule.chosen.algorithm.algorithm == nullptr) return rule.chosen.time_us;
  const auto native = std::ranges::find_if(
      rule.others, [](const Timed& other) { return other.algorithm.algorithm == nullptr; });
  return native == rule.others.end() ? 0 : native->time_us;
}

std::unique_ptr<Chooser> make_tables(std::vector<SourcedTable> tables) {
  return std::make_unique<TableChooser>(std::move(tables));
}

Decider standard_decider(std::string_view forced, std::vector<SourcedTable> tables,
                         std::vector<std::string>* warnings) {
  Decider decider;
  decider.set_forced(make_forced(forced, warnings));
  decider.add(make_tables(std::move(tables)));
  decider.add(make_rules());
  return decider;
}

}  // namespace unisono::tuning
