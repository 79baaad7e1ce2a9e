// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/alike.h"

#include <algorithm>
#include <utility>

namespace unisono::tuning {
namespace {

// A program may have many regions, sizes and shapes: those that come first are remembered.
constexpr std::size_t most_kinds = 4000;

constexpr const char* chosen_by = "learned on another communicator of this job";

}  // namespace

Kind kind_of(const Question& question) {
  const schedule::Problem& problem = question.problem;
  return {.operation = problem.operation,
          .size_class = question.size_class,
          .ranks = problem.size,
          .nodes = problem.layout->nodes(),
          .largest_node = question.largest_node(),
          .is_consecutive = problem.layout->is_consecutive(),
          .is_commutative = problem.is_commutative,
          .is_reproducible = problem.is_reproducible,
          .is_oversubscribed = question.is_oversubscribed,
          .has_shared_memory = question.has_shared_memory,
          .region = std::string(question.region)};
}

std::shared_ptr<const Kind> Findings::begin(const Kind& kind) {
  auto learner = std::make_shared<const Kind>(kind);
  const std::lock_guard lock(mutex_);
  if (by_kind_.size() < most_kinds || by_kind_.contains(kind)) by_kind_[kind].learner = learner;
  return learner;
}

bool Findings::is_being_learned(const Kind& kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_kind_.find(kind);
  return found != by_kind_.end() && !found->second.learner.expired();
}

void Findings::keep(const Kind& kind, Finding finding) {
  const std::lock_guard lock(mutex_);
  const auto found = by_kind_.find(kind);
  if (found != by_kind_.end()) found->second.finding = std::move(finding);
}

std::optional<Finding> Findings::find(const Kind& kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? std::nullopt : found->second.finding;
}

// The chosen one's place, then of each candidate its time, and how uncertain that is.
std::vector<std::uint64_t> numbers_to_tell(const Finding* finding, const CandidateList& list) {
  const std::uint64_t nothing = time_number(unknown_s, false);
  std::vector<std::uint64_t> numbers(1 + 2 * list.choices.size(), nothing);
  if (finding == nullptr) return numbers;
  for (std::size_t k = 0; k < list.choices.size(); ++k) {
    const std::string algorithm = list.choices[k].text();
    if (algorithm == finding->chosen) numbers[0] = k;
    const auto found = std::ranges::find(finding->measured, algorithm, &Finding::Measured::algorithm);
    if (found == finding->measured.end()) continue;
    numbers[1 + 2 * k] = time_number(found->time_s, false);
    numbers[2 + 2 * k] = time_number(found->uncertainty, false);
  }
  return numbers;
}

void take_told(const std::vector<std::uint64_t>& numbers, CandidateList* list) {
  // What another job has chosen was where the other communicator began, too.
  const bool has_chosen = numbers[0] < list->candidates.size();
  for (std::size_t k = 0; k < list->candidates.size(); ++k) {
    const double time_s = time_of(numbers[1 + 2 * k], false);
    Candidate& candidate = list->candidates[k];
    if (has_chosen) candidate.chosen_by = numbers[0] == k ? chosen_by : "";
    if (time_s == unknown_s) continue;
    candidate.known_s = time_s;
    candidate.uncertainty = time_of(numbers[2 + 2 * k], false);
    candidate.is_of_this_job = true;
  }
}

}  // namespace unisono::tuning
