// SPDX-License-Identifier: BSD-3-Clause
// What is to be believed of rules that earlier jobs have learned, and what becomes of them when another job
// has seen more (docs/guide/learning.md). Pure arithmetic on what the files have, the same on all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuning/decisions/candidates.h"
#include "tuning/tables/table.h"

namespace unisono::tuning {

// With the standards of parameters that are not named.
bool is_same(const NamedAlgorithm& one, const NamedAlgorithm& other);

enum class Worth : std::uint8_t {
  none,  // no quiet machine takes such times
  hint,  // says what to try first, and decides nothing
  decides
};

// `expected`: what would serve the calls if nothing had been learned. What agrees with it does no harm. What
// contradicts it needs times of both that differ by more than they are uncertain, and jobs that saw it.
Worth worth_of(const Rule& rule, const Question& question, const NamedAlgorithm& expected);

// What a job that has compared the chosen algorithm with the expected one adds to a rule's trust, and the
// most that there is. A job that could not compare them takes one away where the rule contradicts what is
// expected, so that nothing is believed for long that nobody can see.
inline constexpr std::int64_t fresh_trust = 3, confirmed_trust = 2, most_trust = 8;

// Has a job that went by a rule measured that it is right? Without that it loses trust, so that what a bad
// day has written is not believed for long, whoever goes by it and however (docs/guide/learning.md).
enum class Confirmation : std::uint8_t {
  none,
  contradicted,  // something else was as fast
  confirmed
};
std::int64_t trust_after(std::int64_t trust, Confirmation confirmation);

// A rule that a job has learned, beside the one that was there for the same calls (null: none was). The
// job's own trust is 0 where it used what it knew without having compared it. Empty: nothing is to be kept.
std::optional<Rule> merged(const Rule* old, const Rule& fresh);

// What is known of the candidates from before this job: the times to try them by, and the one to begin with
// where that is believed. `expected`: as above.
void add_known_times(const TableRules& rules, const Question& question, const Choice& expected,
                     CandidateList* list);

// The same of what serves calls since rules for their neighbours agree on it (Choice::leans_on).
void add_times_of_neighbours(const Choice& served, CandidateList* list);

// What would serve the calls if nothing had been learned: other tables, then the built-in rules.
NamedAlgorithm expected_of(const std::vector<TableRules::Match>& matches, const Question& question);

// Of matches, those that are believed. What was learned holds for its own layout and size class alone, but
// between two of these that agree.
std::vector<TableRules::Match> believed(const std::vector<TableRules::Match>& matches,
                                        const Question& question);

}  // namespace unisono::tuning
