// SPDX-License-Identifier: BSD-3-Clause
// Programs whose calls take as long as tests say, as the runtime runs learners in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuning/learning/learner.h"

namespace unisono::tuning {

// A candidate's time in a call of the program, on a rank, in seconds.
using Times = std::function<double(int candidate, std::uint64_t call, int rank)>;

enum class Mode { star, guarded };

// All ranks of a program that makes one kind of calls, as the runtime runs learners.
class Program {
 public:
  Program(Mode mode, const std::vector<Candidate>& candidates, const LearnSettings& settings, int ranks,
          bool is_longest = false)
      : calls_of_(candidates.size()) {
    for (int rank = 0; rank < ranks; ++rank) {
      budgets_.push_back(std::make_unique<Budget>());
      ranks_.push_back(std::make_unique<Learner>(
          static_cast<int>(candidates.size()), settings,
          mode == Mode::star ? make_star_policy(candidates, settings)
                             : make_guarded_policy(candidates, settings, budgets_.back().get()),
          is_longest));
    }
  }

  // Called where all ranks begin at the same time.
  std::function<void()> on_aligned = [] {};

  void run(std::uint64_t calls, const Times& times) {
    for (std::uint64_t i = 0; i < calls; ++i) step(times);
  }

  // The calls' times on the slowest rank, all together, and what this one would have taken: the reference.
  double total_s = 0, reference_s = 0;
  int compared_with = 0;
  std::uint64_t call() const { return call_; }
  int candidate() const { return ranks_.front()->candidate(); }
  const Learner& learner() const { return *ranks_.front(); }
  const Budget& budget() const { return *budgets_.front(); }
  std::uint64_t measured() const {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < calls_of_.size(); ++k) sum += learner().measured_calls(static_cast<int>(k));
    return sum;
  }

 private:
  bool is_looked_at() const {
    return calls_of_[static_cast<std::size_t>(candidate())] % learner().interval() == 0;
  }

  void step(const Times& times) {
    if (is_looked_at() && learner().is_due()) agree();
    const bool is_looked = is_looked_at();
    if (is_looked && learner().is_next_aligned()) on_aligned();
    const int k = candidate();
    double slowest_s = 0, reference_slowest_s = 0;
    ++calls_of_[static_cast<std::size_t>(k)];
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      // Whatever its own times are, a rank must do as the others do.
      ASSERT_EQ(ranks_[r]->candidate(), k);
      const double time_s = times(k, call_, static_cast<int>(r));
      slowest_s = std::max(slowest_s, time_s);
      reference_slowest_s = std::max(reference_slowest_s, times(compared_with, call_, static_cast<int>(r)));
      if (is_looked) ranks_[r]->look(time_s, call_ + 1);
    }
    total_s += slowest_s;
    reference_s += reference_slowest_s;
    ++call_;
  }

  void agree() {
    std::vector<std::uint64_t> least, sums;
    for (const auto& learner : ranks_) {
      const std::vector<std::uint64_t> own = learner->numbers(0), own_sums = learner->sums();
      if (least.empty()) least = own, sums.resize(own_sums.size());
      ASSERT_EQ(own.size(), least.size());
      ASSERT_EQ(own_sums.size(), sums.size());
      for (std::size_t i = 0; i < own.size(); ++i) least[i] = std::min(least[i], own[i]);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own_sums[i];
    }
    for (const auto& learner : ranks_) learner->agree(least.data(), sums.data(), call_);
  }

  std::vector<std::unique_ptr<Budget>> budgets_;
  std::vector<std::unique_ptr<Learner>> ranks_;
  std::vector<std::uint64_t> calls_of_;
  std::uint64_t call_ = 0;
};

inline std::vector<Candidate> of_groups(const std::vector<std::string>& groups) {
  std::vector<Candidate> candidates;
  for (const std::string& group : groups) candidates.push_back({.group = group});
  return candidates;
}

// Of calls of about this time one batch in 64 calls is looked at, where nothing is measured and batches
// count.
inline constexpr double unit_s = 100e-6;

inline std::uint64_t longest_period(const LearnSettings& settings) {
  return static_cast<std::uint64_t>(settings.most_factor) * 64;
}

inline Times constant(const std::vector<double>& units) {
  return [units](int candidate, std::uint64_t, int) {
    return units[static_cast<std::size_t>(candidate)] * unit_s;
  };
}

}  // namespace unisono::tuning
