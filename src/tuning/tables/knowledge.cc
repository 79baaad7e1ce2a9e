// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/knowledge.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tuning/decisions/size_class.h"

namespace unisono::tuning {

bool is_same(const NamedAlgorithm& one, const NamedAlgorithm& other) {
  if (one.algorithm != other.algorithm) return false;
  return one.algorithm == nullptr || algorithms::with_standards(*one.algorithm, one.parameters) ==
                                         algorithms::with_standards(*one.algorithm, other.parameters);
}

namespace {

// Of a rule's times nothing less is certain: machines differ by as much from day to day.
constexpr double least_uncertainty = 0.05;
constexpr double us_a_second = 1e6;
// Who took so many times as long as on the quietest day was disturbed.
constexpr double disturbed_ratio = 4;

// More than the slowest of quiet machines takes, in microseconds.
double most_plausible_us(const Question& question) {
  const double ranks = question.problem.size;
  const double moved = static_cast<double>(question.bytes()) * ranks;
  if (question.problem.layout->nodes() > 1) return 100e3 + moved;
  return (question.is_oversubscribed ? 5e3 * ranks : 500) + 0.05 * moved;
}

const Timed* timed_of(const Rule& rule, const NamedAlgorithm& algorithm) {
  if (is_same(rule.chosen.algorithm, algorithm)) return &rule.chosen;
  const auto found = std::ranges::find_if(
      rule.others, [&](const Timed& other) { return is_same(other.algorithm, algorithm); });
  return found == rule.others.end() || found->time_us <= 0 ? nullptr : &*found;
}

bool was_disturbed(const Timed& timed, double least_us) {
  return timed.time_us > 0 && least_us > 0 && timed.time_us > disturbed_ratio * least_us;
}

std::vector<Timed*> all_of(Rule* rule) {
  std::vector<Timed*> list = {&rule->chosen};
  for (Timed& other : rule->others) list.push_back(&other);
  return list;
}

double least_of(const Timed& timed) {
  return timed.least_us > 0 ? std::min(timed.least_us, timed.time_us) : timed.time_us;
}

// Who does not say what is expected cannot agree with it.
bool contradicts(const Rule& rule, const std::optional<NamedAlgorithm>& expected) {
  return !expected || !is_same(rule.chosen.algorithm, *expected);
}

Rule with_trust(Rule rule, std::int64_t trust) {
  if (!rule.evidence) rule.evidence.emplace();
  rule.evidence->trust = std::clamp<std::int64_t>(trust, 0, most_trust);
  return rule;
}

// The least times of both. Where the job saw times that no quiet day explains, the old ones come half the
// way: if they were wrong, that shows after few jobs.
bool join_least_times(Rule* old, Rule* fresh) {
  bool is_disturbed = false;
  for (Timed* timed : all_of(fresh)) {
    timed->least_us = least_of(*timed);
    Timed* known = nullptr;
    for (Timed* of_old : all_of(old)) {
      if (known == nullptr && is_same(of_old->algorithm, timed->algorithm) && of_old->least_us > 0)
        known = of_old;
    }
    if (known == nullptr || timed->time_us <= 0) continue;
    if (was_disturbed(*timed, known->least_us)) {
      is_disturbed = true;
      known->least_us = std::sqrt(known->least_us * timed->time_us);
    } else {
      timed->least_us = std::min(timed->least_us, known->least_us);
    }
  }
  return is_disturbed;
}

// On which side of the question a rule lies, and along what alone: 0, where along nothing or several.
struct Offset {
  int along = 0, side = 0;
};
Offset offset_of(const Conditions& when, const Question& question) {
  Offset offset;
  int misses = 0;
  const auto look = [&](const Range& range, std::int64_t value, int along) {
    if (range.contains(value)) return;
    ++misses;
    offset = {along, value < range.first ? 1 : -1};
  };
  look(when.bytes, question.bytes(), 1);
  look(when.nodes, question.problem.layout->nodes(), 2);
  look(when.ranks_per_node, question.largest_node(), 3);
  return misses == 1 ? offset : Offset{};
}

// The nearest on both sides of the question, where they agree on what to use.
void add_neighbours(const std::vector<TableRules::Match>& near, const Question& question,
                    std::vector<TableRules::Match>* list) {
  for (int along = 1; along <= 3; ++along) {
    const TableRules::Match *above = nullptr, *below = nullptr;
    for (const TableRules::Match& match : near) {
      const Offset offset = offset_of(match.rule->when, question);
      if (offset.along != along) continue;
      const TableRules::Match*& place = offset.side > 0 ? above : below;
      if (place == nullptr) place = &match;
    }
    const bool agree = above != nullptr && below != nullptr &&
                       is_same(above->rule->chosen.algorithm, below->rule->chosen.algorithm);
    if (!agree) continue;
    list->push_back(*below);
    list->push_back(*above);
    return;
  }
}

}  // namespace

NamedAlgorithm expected_of(const std::vector<TableRules::Match>& matches, const Question& question) {
  for (const TableRules::Match& match : matches) {
    if (match.table->source == learned_source) continue;
    const NamedAlgorithm& named = match.rule->chosen.algorithm;
    const Choice choice{.algorithm = named.algorithm, .parameters = named.parameters};
    if (why_not_taken(choice, question).empty()) return named;
  }
  for (const Choice& choice : make_rules()->candidates(question)) {
    if (why_not_taken(choice, question).empty()) return {choice.algorithm, choice.parameters};
  }
  return {};
}

// Files may say what they like: no rule is believed for longer than the most that there is.
std::int64_t trust_after(std::int64_t trust, Confirmation confirmation) {
  if (confirmation == Confirmation::confirmed) return std::min(trust, most_trust);
  const std::int64_t less = confirmation == Confirmation::contradicted ? fresh_trust : 1;
  return std::clamp<std::int64_t>(trust - less, 0, most_trust - less);
}

Worth worth_of(const Rule& rule, const Question& question, const NamedAlgorithm& expected) {
  if (rule.chosen.time_us <= 0 || rule.chosen.time_us > most_plausible_us(question)) return Worth::none;
  if (is_same(rule.chosen.algorithm, expected)) return Worth::decides;
  if (!rule.evidence || rule.evidence->trust <= 0) return Worth::hint;
  // A test at the start tries all that may be fast, one against the other.
  if (rule.origin == "tested") return Worth::decides;
  const Timed* other = timed_of(rule, expected);
  if (other == nullptr) return Worth::hint;
  if (was_disturbed(rule.chosen, rule.chosen.least_us) || was_disturbed(*other, other->least_us))
    return Worth::hint;
  const double uncertain = std::max(rule.evidence->uncertainty, least_uncertainty);
  return other->time_us > (1 + uncertain) * rule.chosen.time_us ? Worth::decides : Worth::hint;
}

std::optional<Rule> merged(const Rule* old, const Rule& fresh) {
  if (!fresh.evidence) return fresh;
  const bool is_compared = fresh.evidence->trust > 0;
  if (old == nullptr || !old->evidence) {
    Rule made = with_trust(fresh, fresh_trust);
    for (Timed* timed : all_of(&made)) timed->least_us = least_of(*timed);
    if (is_compared) return made;
    return old == nullptr ? std::nullopt : std::optional(*old);
  }
  const std::int64_t trust = old->evidence->trust;
  const std::optional<NamedAlgorithm>& expected = fresh.evidence->expected;
  const std::int64_t less = contradicts(*old, expected) ? trust_after(trust, Confirmation::none) : trust;
  if (!is_compared) return with_trust(*old, less);
  Rule kept = *old, made = fresh;
  if (join_least_times(&kept, &made)) return with_trust(std::move(kept), less);
  if (is_same(old->chosen.algorithm, fresh.chosen.algorithm))
    return with_trust(std::move(made), std::max(trust, std::int64_t{1}) + confirmed_trust);
  // Back to what is expected at once; away from what several jobs have seen not for the word of one.
  if (contradicts(fresh, expected) && trust > fresh_trust)
    return with_trust(std::move(kept), trust_after(trust, Confirmation::contradicted));
  return with_trust(std::move(made), fresh_trust);
}

// Times of the candidates from the first rule for just these calls that has any. One that was learned inside
// a program, whatever decides without learning, comes before those that were measured elsewhere.
void add_known_times(const TableRules& rules, const Question& question, const Choice& expected,
                     CandidateList* list) {
  const auto worth = [&](const TableRules::Match& match) {
    if (match.table->source == learned_source)
      return worth_of(*match.rule, question, {expected.algorithm, expected.parameters});
    return match.rule->chosen.time_us > 0 ? Worth::decides : Worth::none;
  };
  const auto matches = rules.matches(question);
  const auto first = [&](bool is_learned) {
    return std::ranges::find_if(matches, [&](const TableRules::Match& match) {
      return !match.is_near && worth(match) != Worth::none && (match.rule->origin == "learned") == is_learned;
    });
  };
  auto found = first(true);
  const bool is_learned = found != matches.end();
  if (!is_learned) found = first(false);
  if (found == matches.end()) return;
  const std::string chosen_by =
      is_learned ? "learned by an earlier job" : "measured before: " + where_from(*found, question);
  std::vector<Timed> known = found->rule->others;
  known.push_back(found->rule->chosen);
  for (std::size_t k = 0; k < list->choices.size(); ++k) {
    const Choice& choice = list->choices[k];
    for (const Timed& timed : known) {
      if (!is_same(timed.algorithm, {choice.algorithm, choice.parameters})) continue;
      const bool is_chosen = is_same(timed.algorithm, found->rule->chosen.algorithm);
      if (worth(*found) == Worth::decides) {
        list->candidates[k].known_s = timed.time_us / us_a_second;
        list->candidates[k].is_suggested = false;
        if (is_chosen) list->candidates[k].chosen_by = chosen_by;
      } else {
        list->candidates[k].is_suggested = is_chosen;
      }
    }
  }
}

void add_times_of_neighbours(const Choice& served, CandidateList* list) {
  const NamedAlgorithm told = {served.algorithm, served.parameters};
  const bool is_known =
      std::ranges::any_of(list->candidates, [](const Candidate& one) { return !one.chosen_by.empty(); });
  if (is_known || std::ranges::any_of(served.leans_on, [](const LeanedOn& of) { return !of.is_near; }))
    return;
  double sum_us = 0, count = 0;
  for (const LeanedOn& of : served.leans_on) {
    if (is_same(of.rule->chosen.algorithm, told)) sum_us += of.rule->chosen.time_us, ++count;
  }
  if (count == 0) return;
  for (std::size_t k = 0; k < list->choices.size(); ++k) {
    const Choice& choice = list->choices[k];
    if (!is_same({choice.algorithm, choice.parameters}, told)) continue;
    list->candidates[k].known_s = sum_us / count / us_a_second;
    list->candidates[k].chosen_by = "learned by earlier jobs for its neighbours: " + served.reason;
  }
}

std::vector<TableRules::Match> believed(const std::vector<TableRules::Match>& matches,
                                        const Question& question) {
  const bool has_learned = std::ranges::any_of(
      matches, [](const TableRules::Match& match) { return match.table->source == learned_source; });
  if (!has_learned) return matches;
  std::vector<TableRules::Match> list, near;
  const NamedAlgorithm expected = expected_of(matches, question);
  for (const TableRules::Match& match : matches) {
    if (match.table->source != learned_source) {
      list.push_back(match);
    } else if (!question.forgets_learned && worth_of(*match.rule, question, expected) == Worth::decides) {
      (match.is_near ? near : list).push_back(match);
    }
  }
  const bool has_exact = !list.empty() && !list.front().is_near;
  if (!has_exact) {
    std::vector<TableRules::Match> neighbours;
    add_neighbours(near, question, &neighbours);
    list.insert(list.begin(), neighbours.begin(), neighbours.end());
  }
  return list;
}

}  // namespace unisono::tuning
