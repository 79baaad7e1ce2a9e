// SPDX-License-Identifier: BSD-3-Clause
// What the guarded way of learning knows of its candidates, which of them is in use, and which one is worth a
// trial next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuning/decisions/candidate.h"
#include "tuning/learning/comparison.h"

namespace unisono::tuning {

// What all is compared with.
inline constexpr int reference = 0;
// What is predicted, or was once seen, to take longer than so many times the reference is not tried.
inline constexpr double most_slowdown = 3;
// After its first calls a trial goes on where it may still win.
inline constexpr double hopeless_ratio = 1.25;

class KnownCandidates {
 public:
  struct Known {
    double time_s = unknown_s;   // the mean of a batch, as of the last ones that it was in
    double least_s = unknown_s;  // of single calls
    double hint_s = 0;           // predicted, or seen before the program changed; 0: none
    bool is_hint_seen = false;
    bool is_tried = false;
    bool is_measured = false;  // in this job
    double quietest_s = unknown_s;
    double uncertainty = uncertainty_of({});
    std::uint64_t tried_at = 0;  // in trials
  };

  explicit KnownCandidates(std::vector<Candidate> candidates);

  int count() const { return static_cast<int>(known_.size()); }
  Known& at(int k) { return known_[static_cast<std::size_t>(k)]; }
  const Known& at(int k) const { return known_[static_cast<std::size_t>(k)]; }
  double time_s(int k) const { return at(k).time_s; }
  int usual() const { return usual_; }    // what would be used without learning; there may be none
  int chosen() const { return chosen_; }  // what is in use
  void choose(int k) { chosen_ = k; }

  // What was known before this job, or has been found out on another of its communicators. The candidate that
  // this led to; -1: none.
  int take_known();
  const std::string& chosen_by(int k) const { return candidates_[static_cast<std::size_t>(k)].chosen_by; }
  // A trial has measured it.
  void store(int k, double time_s, double least_s);

  // Who is to be compared with the choice once more: the faster one of the reference and of what would be
  // used without learning.
  int rival() const;
  // On another communicator ranks wait for each other for longer, or less long. That says nothing of the
  // algorithms.
  void scale_times(double ratio);
  // Times of another program, as it were: good for the order of trials only.
  void forget_others();
  double second_best_s() const;
  // First what all is compared with, and what would be used without learning. Then what is expected to be
  // fast. Then, of what nothing is expected, one of each group, and the rest of a group that has done well.
  // The model is asked once, when all before has been tried, if it `may_ask_model`. -1: none.
  int next_untried(bool may_ask_model);
  // Of what is not far behind, that which was tried longest ago; -1: none.
  int stalest() const;

 private:
  const std::string& group(int k) const { return candidates_[static_cast<std::size_t>(k)].group; }
  bool may_try(int k) const;
  void ask_model();
  bool is_represented(const std::string& name) const;
  bool is_promising(const std::string& name) const;

  std::vector<Candidate> candidates_;
  std::vector<Known> known_;
  int usual_ = 1;
  int chosen_ = 0;
  bool is_model_asked_ = false;
  std::uint64_t trials_ = 0;
};

}  // namespace unisono::tuning
