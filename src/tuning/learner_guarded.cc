// SPDX-License-Identifier: BSD-3-Clause
// Learning that costs the program next to nothing (B2): the reference first, then few others, one at a time,
// each given up as soon as it is seen to be slow, all paid for by a budget.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuning/learner.h"

namespace unisono::tuning {
namespace {

// What is predicted, or was once seen, to take longer than so many times the reference is not tried.
constexpr double most_slowdown = 3;
// After its first calls a trial goes on where it may still win. First calls meet memory that was never
// touched, which is much of a quick call.
constexpr double hopeless_ratio = 1.25, hopeless_ratio_of_quick = 2;
constexpr double quick_call_s = 100e-6;
// What would be used without learning is trusted: it is given so many times as many calls, in which all slots
// of the shared memory come round.
constexpr int usual_looks_ratio = 2;
constexpr double hopeless_ratio_of_usual = 10;
// A choice is changed for more than what measuring the same twice gives.
constexpr double least_gain = 0.03;
// Slower or faster than it was by so much: the program or the machine is another now, and old times say
// nothing.
constexpr double drift_ratio = 1.5;
// What is known to be slower than so many times the best is not tried again to see whether that still holds.
constexpr double retrial_ratio = 2;
// A first call makes its schedule; of long calls that is little, and each one counts.
constexpr double long_call_s = 1e-3;
constexpr int looks_at_long_calls = 3;

std::string ratio_text(const char* before, double ratio, const char* after) {
  char text[120];
  std::snprintf(text, sizeof text, "%s%.2f%s", before, ratio, after);
  return text;
}

// What all is compared with, and what would be used without learning.
constexpr int reference = 0, usual = 1;

class GuardedPolicy : public Policy {
 public:
  GuardedPolicy(std::vector<Candidate> candidates, const LearnSettings& settings, Budget* budget)
      : candidates_(std::move(candidates)), settings_(settings), budget_(budget), of_(candidates_.size()) {
    for (std::size_t k = 0; k < of_.size(); ++k) of_[k].hint_s = candidates_[k].predicted_s;
  }

  Task start() override {
    int least = -1;
    for (int k = 0; k < count(); ++k) {
      const double known_s = candidates_[static_cast<std::size_t>(k)].known_s;
      if (known_s <= 0) continue;
      store(k, known_s);
      if (least < 0 || known_s < time_s(least)) least = k;
    }
    if (least < 0 || at(reference).time_s == unknown_s)
      return measure_reference("the reference, measured first");
    choose(least, "learned by an earlier job");
    return monitor();
  }

  Task next(const Task& ended, const Seen& seen) override {
    account(ended, seen);
    if (ended.is_monitoring) return adapt(seen.times_s[0], seen.times_s[1]);
    const int k = ended.candidates.front();
    if (is_trial_) return judge(k, ended.looks, seen.times_s.front());
    store(k, seen.times_s.front());
    int best = k;
    for (int other = 0; other < count(); ++other) {
      if (time_s(other) < (1 - least_gain) * time_s(best)) best = other;
    }
    if (best != k) choose(best, "still faster than the reference");
    return proceed();
  }

  int chosen() const override { return chosen_; }
  double time_s(int candidate) const override { return of_[static_cast<std::size_t>(candidate)].time_s; }

 private:
  struct State {
    double time_s = unknown_s;
    double hint_s = 0;  // predicted, or seen before the program changed; 0: none
    bool is_hint_seen = false;
    bool is_tried = false;
    std::uint64_t tried_at = 0;  // in trials
  };
  State& at(int k) { return of_[static_cast<std::size_t>(k)]; }
  const State& at(int k) const { return of_[static_cast<std::size_t>(k)]; }
  int count() const { return static_cast<int>(of_.size()); }
  const std::string& group(int k) const { return candidates_[static_cast<std::size_t>(k)].group; }

  void store(int k, double time) {
    at(k).time_s = time;
    at(k).is_tried = true;
    at(k).tried_at = ++trials_;
  }

  // What the calls since then have earned, and what they have cost.
  void account(const Task& ended, const Seen& seen) {
    const auto calls = static_cast<double>(seen.calls);
    const double best_s = time_s(chosen_);
    double took_s = seen.times_s.front();
    budget_->spend(seen.overhead_s);
    if (!is_trial_) {
      if (took_s == unknown_s) took_s = best_s;
      if (took_s != unknown_s) budget_->accrue(settings_.budget_share * calls * took_s);
      return;
    }
    if (took_s == unknown_s) took_s = most_slowdown * best_s;
    budget_->accrue(settings_.budget_share * calls * std::min(took_s, best_s));
    budget_->spend(std::max(took_s - best_s, 0.0) * static_cast<double>(ended.looks));
  }

  void choose(int k, std::string why) {
    chosen_ = k;
    why_chosen_ = std::move(why);
  }

  Task measure_reference(std::string why) {
    is_trial_ = false;
    choose(reference, "the reference");
    why_ = std::move(why);
    return {.candidates = {reference}, .looks = settings_.iterations};
  }

  Task monitor() {
    is_trial_ = false;
    why_ = why_chosen_;
    return {.candidates = {chosen_}, .looks = factor_ * settings_.iterations, .is_monitoring = true};
  }

  // The next trial, where there is something to be tried that can be paid for. What would be used without
  // learning is tried on credit: the program would be worse off if it had to be earned first.
  Task proceed() {
    const int next = next_untried();
    const bool is_on_credit = next == usual && !at(usual).is_hint_seen;
    const int k = budget_->balance_s() > 0 || is_on_credit ? next : -1;
    return k >= 0 ? probe(k, "on trial") : monitor();
  }

  bool is_long() const { return time_s(chosen_) > long_call_s; }
  int probe_looks() const { return is_long() ? 1 : 2; }

  Task probe(int k, const char* why) {
    is_trial_ = true;
    trial_s_ = unknown_s;
    trial_looks_ = 0;
    why_ = why;
    return {.candidates = {k}, .looks = std::min(probe_looks(), settings_.iterations)};
  }

  Task judge(int k, int looks, double time) {
    trial_s_ = std::min(trial_s_, time);
    trial_looks_ += looks;
    const double best_s = time_s(chosen_);
    const double hopeless = k == usual              ? (is_long() ? most_slowdown : hopeless_ratio_of_usual)
                            : best_s < quick_call_s ? hopeless_ratio_of_quick
                                                    : hopeless_ratio;
    const int wanted =
        (k == usual ? usual_looks_ratio : 1) *
        (is_long() ? std::min(looks_at_long_calls, settings_.iterations) : settings_.iterations);
    if (trial_s_ <= hopeless * best_s && trial_looks_ < wanted) {
      why_ = "on trial";
      return {.candidates = {k}, .looks = wanted - trial_looks_};
    }
    store(k, trial_s_);
    is_trial_ = false;
    // Between equals what would be used without learning wins against the reference.
    const bool wins_ties = k == usual && chosen_ == reference;
    if (trial_s_ < (wins_ties ? 1 + least_gain : 1 - least_gain) * best_s) {
      choose(k, ratio_text("", best_s / trial_s_, " times as fast as what was the best before"));
      factor_ = first_factor;
    }
    return proceed();
  }

  // S3, with the reference to fall back on.
  Task adapt(double whole_s, double recent_s) {
    if (whole_s == unknown_s || recent_s == unknown_s) return monitor();
    const double second_s = second_best_s();
    const double bad_s = (1 + settings_.tolerance) * second_s;
    const bool is_bad = second_s != unknown_s && whole_s >= bad_s && recent_s >= bad_s;
    const double slower_s = drift_ratio * time_s(chosen_), faster_s = time_s(chosen_) / drift_ratio;
    const bool has_drifted =
        (whole_s >= slower_s && recent_s >= slower_s) || (whole_s <= faster_s && recent_s <= faster_s);
    if (!is_bad && !has_drifted) return stay();
    const double before_s = std::exchange(at(chosen_).time_s, whole_s);
    factor_ = first_factor;
    forget_others();
    at(chosen_).hint_s = before_s;
    at(chosen_).is_hint_seen = true;
    if (!is_bad || chosen_ == reference) return proceed();
    return measure_reference(ratio_text("what ran before takes ", whole_s / before_s,
                                        " times as long as it did; the reference again"));
  }

  Task stay() {
    if (budget_->balance_s() > 0 && next_untried() >= 0) return proceed();
    const bool is_calm = factor_ >= settings_.most_factor;
    factor_ = std::min(2 * factor_, settings_.most_factor);
    const int k = is_calm ? stalest() : -1;
    if (k < 0 || retrial_cost_s(k) >= budget_->balance_s()) return monitor();
    return probe(k, "tried again, to see whether it is still slower");
  }

  // Times of another program, as it were: good for the order of trials only.
  void forget_others() {
    for (int k = 0; k < count(); ++k) {
      if (k == chosen_) continue;
      State& other = at(k);
      if (other.time_s != unknown_s) other.hint_s = other.time_s, other.is_hint_seen = true;
      other.time_s = unknown_s;
      other.is_tried = false;
    }
  }

  double second_best_s() const {
    double least_s = unknown_s;
    for (int k = 0; k < count(); ++k) {
      if (k != chosen_) least_s = std::min(least_s, time_s(k));
    }
    return least_s;
  }

  bool may_try(int k) const {
    const State& state = at(k);
    if (k == chosen_ || state.is_tried) return false;
    return state.hint_s == 0 || state.is_hint_seen || state.hint_s <= most_slowdown * time_s(reference);
  }

  // First what all is compared with, and what would be used without learning; then what is expected to be
  // fast; then, of what nothing is expected, one of each group, and the rest of a group that has done well.
  int next_untried() const {
    if (may_try(reference)) return reference;
    if (count() > usual && may_try(usual) && !at(usual).is_hint_seen) return usual;
    double least_hint_s = unknown_s;
    for (int k = 0; k < count(); ++k) {
      if (at(k).is_hint_seen) least_hint_s = std::min(least_hint_s, at(k).hint_s);
    }
    int found = -1;
    for (int k = 0; k < count(); ++k) {
      if (!may_try(k) || at(k).hint_s == 0) continue;
      if (at(k).is_hint_seen && at(k).hint_s > most_slowdown * least_hint_s) continue;
      if (found < 0 || at(k).hint_s < at(found).hint_s) found = k;
    }
    for (int k = 0; found < 0 && k < count(); ++k) {
      if (may_try(k) && at(k).hint_s == 0 && !is_represented(group(k))) found = k;
    }
    for (int k = 0; found < 0 && k < count(); ++k) {
      if (may_try(k) && at(k).hint_s == 0 && is_promising(group(k))) found = k;
    }
    return found;
  }

  bool is_represented(const std::string& name) const {
    for (int k = 0; k < count(); ++k) {
      const State& state = at(k);
      if (group(k) == name && (state.is_tried || state.hint_s > 0)) return true;
    }
    return false;
  }
  bool is_promising(const std::string& name) const {
    for (int k = 0; k < count(); ++k) {
      if (group(k) == name && time_s(k) <= hopeless_ratio * time_s(chosen_)) return true;
    }
    return false;
  }

  // Of what is not far behind, that which was tried longest ago.
  int stalest() const {
    int found = -1;
    for (int k = 0; k < count(); ++k) {
      if (k == chosen_ || time_s(k) > retrial_ratio * time_s(chosen_)) continue;
      if (found < 0 || at(k).tried_at < at(found).tried_at) found = k;
    }
    return found;
  }
  double retrial_cost_s(int k) const { return std::max(time_s(k) - time_s(chosen_), 0.0) * probe_looks(); }

  std::vector<Candidate> candidates_;
  LearnSettings settings_;
  Budget* budget_;
  std::vector<State> of_;
  int chosen_ = 0;
  std::string why_chosen_;
  int factor_ = first_factor;
  std::uint64_t trials_ = 0;
  bool is_trial_ = false;
  double trial_s_ = unknown_s;
  int trial_looks_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_guarded_policy(std::vector<Candidate> candidates, const LearnSettings& settings,
                                            Budget* budget) {
  return std::make_unique<GuardedPolicy>(std::move(candidates), settings, budget);
}

}  // namespace unisono::tuning
