// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/alike.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "tuning/learning/learner.h"

namespace unisono::tuning {
namespace {

// A program may have many regions, sizes and shapes: those that come first are remembered.
constexpr std::size_t most_kinds = 4000;

constexpr const char* chosen_by = "learned on another communicator of this job";

// FNV-1a.
constexpr std::uint64_t first_digest = 14695981039346656037u;
std::uint64_t digest(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// On the board. Ranks of a node run the same program with the same Unisono.
std::uint64_t key_of(const Kind& kind) {
  std::string text(name(kind.operation));
  for (const int number : {kind.size_class, kind.ranks, kind.nodes, kind.largest_node,
                           int{kind.is_consecutive}, int{kind.is_commutative}, int{kind.is_reproducible},
                           int{kind.is_oversubscribed}, int{kind.has_shared_memory}})
    text += ' ' + std::to_string(number);
  return digest(text + ' ' + kind.region, first_digest) | 1;
}

constexpr std::size_t numbers_of_one = 3;

// The chosen one, then of each measured one what it is, its time and how uncertain that is. What does not fit
// is left out, but not the chosen one.
std::vector<std::uint64_t> told_of(const Finding& finding) {
  std::vector<std::uint64_t> numbers = {finding.chosen};
  const auto add = [&](const Finding::Measured& one) {
    if (numbers.size() + numbers_of_one > shm::Board::most_numbers) return;
    numbers.insert(numbers.end(), {one.algorithm, std::bit_cast<std::uint64_t>(one.time_s),
                                   std::bit_cast<std::uint64_t>(one.uncertainty)});
  };
  for (const Finding::Measured& one : finding.measured) {
    if (one.algorithm == finding.chosen) add(one);
  }
  for (const Finding::Measured& one : finding.measured) {
    if (one.algorithm != finding.chosen) add(one);
  }
  return numbers;
}

std::optional<Finding> finding_from(const std::vector<std::uint64_t>& numbers) {
  if (numbers.empty()) return std::nullopt;
  Finding finding{.chosen = numbers[0]};
  for (std::size_t i = 1; i + numbers_of_one <= numbers.size(); i += numbers_of_one) {
    finding.measured.push_back({.algorithm = numbers[i],
                                .time_s = std::bit_cast<double>(numbers[i + 1]),
                                .uncertainty = std::bit_cast<double>(numbers[i + 2])});
  }
  return finding;
}

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

std::uint64_t digest_of(const std::string& algorithm) {
  return digest(algorithm, first_digest) | 1;
}

void Findings::use_board(shm::Board* board) {
  const LockGuard lock(shared_->mutex);
  shared_->board = board;
}

std::shared_ptr<const Kind> Findings::begin(const Kind& kind) {
  const std::uint64_t key = key_of(kind);
  const auto on_board = [shared = shared_, key](void (shm::Board::*act)(std::uint64_t)) {
    const LockGuard lock(shared->mutex);
    if (shared->board != nullptr) (shared->board->*act)(key);
  };
  on_board(&shm::Board::begin);
  std::shared_ptr<const Kind> learner(new Kind(kind), [on_board](const Kind* made) {
    on_board(&shm::Board::end);
    delete made;
  });
  const LockGuard lock(mutex_);
  if (by_kind_.size() < most_kinds || by_kind_.contains(kind)) by_kind_[kind].learner = learner;
  return learner;
}

bool Findings::is_being_learned(const Kind& kind) const {
  {
    const LockGuard lock(mutex_);
    const auto found = by_kind_.find(kind);
    if (found != by_kind_.end() && !found->second.learner.expired()) return true;
  }
  const LockGuard lock(shared_->mutex);
  return shared_->board != nullptr && shared_->board->has_begun(key_of(kind));
}

void Findings::keep(const Kind& kind, Finding finding, bool is_told) {
  if (is_told) {
    const LockGuard lock(shared_->mutex);
    if (shared_->board != nullptr) shared_->board->write(key_of(kind), told_of(finding));
  }
  const LockGuard lock(mutex_);
  const auto found = by_kind_.find(kind);
  if (found != by_kind_.end()) found->second.finding = std::move(finding);
}

// What this rank has seen itself comes first.
std::optional<Finding> Findings::find(const Kind& kind) const {
  {
    const LockGuard lock(mutex_);
    const auto found = by_kind_.find(kind);
    if (found != by_kind_.end() && found->second.finding) return found->second.finding;
  }
  const LockGuard lock(shared_->mutex);
  return shared_->board == nullptr ? std::nullopt : finding_from(shared_->board->read(key_of(kind)));
}

// The chosen one's place, then of each candidate its time, and how uncertain that is.
std::vector<std::uint64_t> numbers_to_tell(const Finding* finding, const CandidateList& list) {
  const std::uint64_t nothing = time_number(unknown_s, false);
  std::vector<std::uint64_t> numbers(1 + 2 * list.choices.size(), nothing);
  if (finding == nullptr) return numbers;
  for (std::size_t k = 0; k < list.choices.size(); ++k) {
    const std::uint64_t algorithm = digest_of(list.choices[k].text());
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
