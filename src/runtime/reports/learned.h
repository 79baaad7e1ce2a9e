// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned, as data. One rank of each communicator tells it to rank 0. That one keeps it for
// later jobs (learned_rules.h) and has it in the report (docs/guide/report.md, `learning`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "runtime/communicators/learned_class.h"
#include "tuning/tables/leaning.h"

namespace unisono::runtime {

using ParameterValues = std::vector<std::pair<std::string, std::int64_t>>;

// An algorithm by its name; "native" is the MPI's own.
struct UsedAlgorithm {
  std::string name;
  ParameterValues parameters;
  bool is_native() const { return name == "native"; }
  bool operator==(const UsedAlgorithm&) const = default;
};
UsedAlgorithm used_algorithm(const tuning::Choice& choice);
void write(WireWriter* writer, const UsedAlgorithm& used);
UsedAlgorithm read_used_algorithm(WireReader* reader);

// One that has served calls of a kind. Times that nobody knows are tuning::unknown_s.
struct LearnedCandidate {
  UsedAlgorithm algorithm;
  bool is_chosen = false;
  std::uint64_t calls = 0, measured_calls = 0;
  double time_s = tuning::unknown_s, quietest_s = tuning::unknown_s;
  bool operator==(const LearnedCandidate&) const = default;
};

// From a call of the kind on another algorithm ran.
struct LearnedEvent {
  std::uint64_t call = 0;
  std::string algorithm;
  bool is_trial = false;
  std::string why;
  bool operator==(const LearnedEvent&) const = default;
};

// Whose time counts.
enum class Compared : std::uint8_t { shortest, longest, mean };
inline constexpr int compared_count = 3;

// One kind of calls, as all ranks of the communicator have it.
struct LearnedKind {
  int communicator = 0;
  std::string shape, layout;  // "8 ranks on 2 nodes", "2x4"
  bool is_oversubscribed = false, is_reproducible = false, is_commutative = true;
  Operation operation = Operation::barrier;
  int size_class = 0;
  std::string region;
  Compared compared = Compared::shortest;
  std::uint64_t calls = 0, agreements = 0;
  std::string chosen;
  double time_s = tuning::unknown_s;
  UsedAlgorithm usual;  // what would have served the calls without learning
  bool is_compared_with_usual = false;
  double uncertainty = 0;
  double trial_loss_s = 0, measuring_overhead_s = 0, monitoring_overhead_s = 0;
  std::vector<LearnedCandidate> candidates;
  std::vector<std::string> untried;
  std::vector<LearnedEvent> timeline;
  bool operator==(const LearnedKind&) const = default;
};
LearnedKind learned_kind(const Communicator& c, Operation operation, int size_class,
                         const LearnedClass& learned);

// And which kept rules the job went by.
struct Learned {
  std::vector<LearnedKind> kinds;
  std::vector<tuning::Lean> leans;
  bool is_empty() const { return kinds.empty() && leans.empty(); }
};
void write(WireWriter* writer, const Learned& learned);
Learned read_learned(WireReader* reader);

// Kinds of calls that a rank tells of, and that a job keeps and reports.
inline constexpr std::size_t most_learned = 200;
// The kinds of calls that took most time, these first.
void keep_most_important(std::vector<LearnedKind>* kinds);

// Has the job measured that what kept rules say of these calls is right?
tuning::Confirmation confirmation_of(const LearnedClass& learned);

}  // namespace unisono::runtime
