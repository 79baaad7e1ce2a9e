// SPDX-License-Identifier: BSD-3-Clause
// The source's algorithm: Measure_Select (S2) with or without groups (S4), and Monitor_Adapt (S3; figure 2).
// Beyond it, what a model predicts to be slow may be left out.
#include <algorithm>
#include <utility>

#include "tuning/learning/comparison.h"
#include "tuning/learning/learner.h"

namespace unisono::tuning {
namespace {

constexpr int most_vain = 3;

class StarPolicy : public Policy {
 public:
  StarPolicy(std::vector<Candidate> candidates, const LearnSettings& settings)
      : candidates_(std::move(candidates)),
        settings_(settings),
        times_s_(candidates_.size(), unknown_s),
        is_measured_(candidates_.size()),
        is_left_out_(candidates_.size()),
        vain_(candidates_.size()) {}

  Task start() override {
    if (settings_.prune > 0) leave_out();
    return measure_or_monitor();
  }

  Task next(const Task& ended, const Seen& seen) override {
    if (ended.is_monitoring) return adapt(seen.whole_s, seen.recent_s);
    for (std::size_t i = 0; i < ended.candidates.size(); ++i) {
      const auto k = static_cast<std::size_t>(ended.candidates[i]);
      // Some rank was in another region in each of the calls: once more.
      if (seen.leasts_s[i] == unknown_s && ++vain_[k] < most_vain) continue;
      times_s_[k] = seen.leasts_s[i];
      is_measured_[k] = true;
    }
    return measure_or_monitor();
  }

  bool looks_at_single_calls() const override { return true; }
  int chosen() const override { return chosen_; }
  double time_s(int candidate) const override { return times_s_[static_cast<std::size_t>(candidate)]; }
  bool is_measured(int candidate) const override { return is_measured_[static_cast<std::size_t>(candidate)]; }
  double uncertainty(int /*candidate*/) const override { return uncertainty_of({}); }
  double quietest_s(int candidate) const override { return time_s(candidate); }

 private:
  // What is predicted to take more than `prune` longer than the fastest prediction. What the model cannot say
  // is measured.
  void leave_out() {
    std::vector<double> predicted_s;
    double least_s = unknown_s;
    for (const Candidate& candidate : candidates_) {
      predicted_s.push_back(candidate.predicted_s());
      if (predicted_s.back() > 0) least_s = std::min(least_s, predicted_s.back());
    }
    for (std::size_t k = 0; k < candidates_.size(); ++k)
      is_left_out_[k] = predicted_s[k] > (1 + settings_.prune) * least_s;
  }

  // What is left to be measured first; then the best is chosen and watched.
  Task measure_or_monitor() {
    Task task{.candidates = unmeasured(), .looks = settings_.iterations};
    if (!task.candidates.empty()) {
      why_ = "measured";
      return task;
    }
    chosen_ = best();
    factor_ = first_factor;
    why_ = "the least time of all that were measured, as the ranks' mean";
    return monitor();
  }

  std::vector<int> unmeasured() const {
    std::vector<int> found;
    if (!settings_.has_groups) {
      for (int k = 0; k < count(); ++k) {
        if (may_measure(k)) found.push_back(k);
      }
      return found;
    }
    // One of each group, then the rest of the best group (section 3.3).
    for (int k = 0; k < count(); ++k) {
      if (may_measure(k) && !is_represented(group(k), found)) found.push_back(k);
    }
    if (!found.empty()) return found;
    for (int k = 0; k < count(); ++k) {
      if (may_measure(k) && group(k) == group(best())) found.push_back(k);
    }
    return found;
  }

  bool is_represented(const std::string& group_name, const std::vector<int>& found) const {
    const auto is_of_group = [&](int k) { return group(k) == group_name; };
    if (std::any_of(found.begin(), found.end(), is_of_group)) return true;
    for (int k = 0; k < count(); ++k) {
      if (is_measured_[static_cast<std::size_t>(k)] && is_of_group(k)) return true;
    }
    return false;
  }

  Task monitor() const {
    return {.candidates = {chosen_}, .looks = factor_ * settings_.iterations, .is_monitoring = true};
  }

  // Lines 31-37 of the source's figure, and what its text says of a bad time that has passed.
  Task adapt(double whole_s, double recent_s) {
    const double limit_s = (1 + settings_.tolerance) * second_best_s();
    if (whole_s < limit_s || limit_s == unknown_s || whole_s == unknown_s) {
      factor_ = std::min(2 * factor_, settings_.most_factor);
      return monitor();
    }
    factor_ = first_factor;
    if (recent_s < limit_s || recent_s == unknown_s) return monitor();
    times_s_[static_cast<std::size_t>(chosen_)] = whole_s;
    Task task = measure_or_monitor();
    why_ = "what ran before became slower than the second best was measured";
    return task;
  }

  int best() const {
    int found = 0;
    for (int k = 0; k < count(); ++k) {
      if (time_s(k) < time_s(found)) found = k;
    }
    return found;
  }
  double second_best_s() const {
    double least_s = unknown_s;
    for (int k = 0; k < count(); ++k) {
      if (k != chosen_) least_s = std::min(least_s, time_s(k));
    }
    return least_s;
  }
  bool may_measure(int k) const {
    return !is_measured_[static_cast<std::size_t>(k)] && !is_left_out_[static_cast<std::size_t>(k)];
  }
  const std::string& group(int k) const { return candidates_[static_cast<std::size_t>(k)].group; }
  int count() const { return static_cast<int>(candidates_.size()); }

  std::vector<Candidate> candidates_;
  LearnSettings settings_;
  std::vector<double> times_s_;
  std::vector<bool> is_measured_, is_left_out_;
  std::vector<int> vain_;  // attempts
  int chosen_ = 0;
  int factor_ = first_factor;
};

}  // namespace

std::unique_ptr<Policy> make_star_policy(std::vector<Candidate> candidates, const LearnSettings& settings) {
  return std::make_unique<StarPolicy>(std::move(candidates), settings);
}

}  // namespace unisono::tuning
