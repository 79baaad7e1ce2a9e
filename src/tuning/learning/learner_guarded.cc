// SPDX-License-Identifier: BSD-3-Clause
// Learning that costs the program next to nothing (B2). It tries the reference, then few others, one at a
// time. Each is given up as soon as it is seen to be slow, and all are paid for by a budget.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuning/learning/comparison.h"
#include "tuning/learning/known_candidates.h"
#include "tuning/learning/learner.h"

namespace unisono::tuning {
namespace {

// Of what nothing is known: so many times as long as what is in use.
constexpr double assumed_slowdown = 3;
// Whatever another job has seen: its day may have been a bad one.
constexpr double most_expected_slowdown = 10;
// What the model takes to say something of a candidate.
constexpr double prediction_s = 50e-6;
// After its first calls a trial goes on where it may still win. First calls meet memory that was never
// touched, which is much of a quick call.
constexpr double hopeless_ratio_of_quick = 2;
// What would be used without learning is trusted. Where its first calls were slow it is given so many times
// as many calls, in which all slots of the shared memory come round.
constexpr int usual_looks_ratio = 2;
constexpr double hopeless_ratio_of_usual = 10;
// Slower or faster than it was by so much: the program or the machine is another now, and old times say
// nothing.
constexpr double drift_ratio = 1.5;
// A first call makes its schedule; of long calls that is little, and each one counts.
constexpr double long_call_s = 1e-3;
constexpr int looks_at_long_calls = 3;
// A period of watching need not be longer than so much time in calls: the ranks agree quickly against that.
constexpr double long_period_s = 1;

// Quick calls are disturbed by what costs little to long ones: more of them make a batch.
struct BatchKind {
  double below_s;
  int looks_of_iterations, lead_in;
};
constexpr BatchKind batch_kinds[] = {{5e-6, 8, 16}, {20e-6, 4, 8}, {50e-6, 2, 4}, {long_call_s, 1, 2}};
constexpr double quick_call_s = 100e-6;

std::string ratio_text(const char* before, double ratio, const char* after) {
  char text[120];
  std::snprintf(text, sizeof text, "%s%.2f%s", before, ratio, after);
  return text;
}

constexpr int confirming_factor = 4;
constexpr int most_vain_rounds = 3;

class GuardedPolicy : public Policy {
 public:
  GuardedPolicy(std::vector<Candidate> candidates, const LearnSettings& settings, Budget* budget)
      : known_(std::move(candidates)), settings_(settings), budget_(budget) {}

  // What other jobs knew says what to begin with, and what to try first: not what is so. What was measured on
  // another communicator of this job is not measured again, but for one comparison (rival).
  Task start() override {
    const int before = known_.take_known();
    if (before < 0) {
      choose(std::min(usual(), count() - 1), "what is used without learning");
    } else {
      choose(before, known_.chosen_by(before));
    }
    is_of_another_ = at(chosen()).is_measured;
    return monitor();
  }

  Task next(const Task& ended, const Seen& seen) override {
    account(ended, seen);
    if (ended.is_monitoring) return adapt(seen.whole_s, seen.recent_s);
    return stage_ == Stage::probe ? judge_probe(ended, seen.leasts_s.front()) : judge_round(ended, seen);
  }

  bool looks_at_single_calls() const override { return false; }
  int chosen() const override { return known_.chosen(); }
  double time_s(int candidate) const override { return at(candidate).time_s; }
  bool is_measured(int candidate) const override { return at(candidate).is_measured; }
  double uncertainty(int candidate) const override { return at(candidate).uncertainty; }
  double quietest_s(int candidate) const override { return at(candidate).quietest_s; }

 private:
  enum class Stage : std::uint8_t { probe, duel };
  KnownCandidates::Known& at(int k) { return known_.at(k); }
  const KnownCandidates::Known& at(int k) const { return known_.at(k); }
  int count() const { return known_.count(); }
  int usual() const { return known_.usual(); }

  // What the calls since then have earned, and what they have cost.
  void account(const Task& ended, const Seen& seen) {
    const auto calls = static_cast<double>(seen.calls);
    double best_s = time_s(chosen());
    budget_->spend(seen.overhead_s);
    agreeing_s_ = seen.overhead_s;
    if (ended.is_monitoring) {
      if (seen.whole_s != unknown_s) best_s = seen.whole_s;
      if (best_s != unknown_s) budget_->accrue(settings_.budget_share * calls * best_s);
      return;
    }
    for (const double mean_s : seen.means_s) best_s = std::min(best_s, mean_s);
    if (best_s == unknown_s) return;
    budget_->accrue(settings_.budget_share * calls * best_s);
    for (std::size_t i = 0; i < ended.candidates.size(); ++i) {
      const double took_s = seen.means_s[i] == unknown_s ? most_slowdown * best_s : seen.means_s[i];
      if (ended.candidates[i] != chosen())
        budget_->spend(std::max(took_s - best_s, 0.0) * static_cast<double>(ended.looks));
    }
  }

  void choose(int k, std::string why) {
    known_.choose(k);
    why_next_ = std::move(why);
  }

  Task monitor() {
    // A reason is of one change: what is used again after a trial has shown something else by that.
    why_ = why_next_.empty() ? "kept: what was tried was not faster" : std::exchange(why_next_, {});
    const double most_periods = long_period_s / (time_s(chosen()) * settings_.iterations);
    const int periods = std::clamp(static_cast<int>(std::min<double>(most_periods, factor_)), first_factor,
                                   std::max(factor_, first_factor));
    return {.candidates = {chosen()}, .looks = periods * settings_.iterations, .is_monitoring = true};
  }

  // The next trial, where there is something to be tried that can be paid for. What to fall back on, where
  // the choice has turned bad, is tried on credit.
  Task proceed(const char* why = "on trial", bool may_borrow = false) {
    const int next = next_untried();
    if (next < 0) return monitor();
    const bool is_on_credit = may_borrow && next == reference && std::exchange(has_credit_, false);
    return is_on_credit || is_paid(probe_cost_s(next)) ? probe(next, why) : monitor();
  }

  int next_untried() { return known_.next_untried(is_paid(prediction_s * count())); }

  // Has it been earned? And what agreeing on it takes.
  bool is_paid(double cost_s) const { return budget_->balance_s() > cost_s + agreeing_s_; }
  // By how much longer the first calls take, where nobody has seen any: they may take that many times as
  // long.
  double probe_cost_s(int k) const {
    const double best_s = time_s(chosen());
    const double expected_s = at(k).hint_s > 0 ? std::min(at(k).hint_s, most_expected_slowdown * best_s)
                                               : assumed_slowdown * best_s;
    return std::max(expected_s - best_s, 0.0) * probe_looks();
  }

  bool is_long() const { return time_s(chosen()) > long_call_s; }
  int probe_looks() const {
    return is_long() ? 1 : time_s(chosen()) < batch_kinds[0].below_s ? settings_.iterations : 2;
  }

  Task probe(int k, const char* why) {
    stage_ = Stage::probe;
    trial_ = {.candidate = k};
    why_ = why;
    return {.candidates = {k}, .looks = probe_looks()};
  }

  // First calls, to see whether it is worth a comparison: like is compared with like, the least of few calls
  // with the least of some.
  Task judge_probe(const Task& ended, double least) {
    const int k = trial_.candidate;
    trial_.least_s = std::min(trial_.least_s, least);
    trial_.looks += ended.looks;
    const double best_s = std::min(at(chosen()).least_s, time_s(chosen()));
    const double hopeless = best_s < quick_call_s ? hopeless_ratio_of_quick : hopeless_ratio;
    if (trial_.least_s <= hopeless * best_s) return next_round();
    const double hopeless_usual = is_long() ? most_slowdown : hopeless_ratio_of_usual;
    const int wanted = usual_looks_ratio * (is_long() ? looks_at_long_calls : settings_.iterations);
    if (k == usual() && trial_.least_s <= hopeless_usual * best_s && trial_.looks < wanted &&
        is_paid((trial_.least_s - best_s) * (wanted - trial_.looks)))
      return {.candidates = {k}, .looks = wanted - trial_.looks};
    known_.store(k, trial_.least_s, trial_.least_s);
    return proceed();
  }

  // The next round, or more calls as before until it can be paid for.
  Task next_round() {
    Task task = round();
    const double other_s = trial_.rounds.empty() ? trial_.least_s : trial_.rounds.back().other_s;
    is_waiting_ = !is_paid(std::max(other_s - time_s(chosen()), 0.0) * task.looks);
    return is_waiting_ ? monitor() : task;
  }

  // A round of the comparison: a batch of what is used and one of what is on trial. In every second round it
  // is the other way round, so that what changes by and by favours neither.
  Task round() {
    stage_ = Stage::duel;
    why_ = "compared with each other, batch by batch";
    Task task{.looks = looks_at_long_calls + 1, .lead_in = 1};
    for (const BatchKind& kind : batch_kinds) {
      if (time_s(chosen()) >= kind.below_s) continue;
      task.lead_in = kind.lead_in;
      task.looks = kind.looks_of_iterations * settings_.iterations + kind.lead_in;
      break;
    }
    task.candidates = {chosen(), trial_.candidate};
    if (trial_.rounds.size() % 2 != 0) std::swap(task.candidates[0], task.candidates[1]);
    return task;
  }

  Task judge_round(const Task& ended, const Seen& seen) {
    const std::size_t at_best = ended.candidates[0] == chosen() ? 0 : 1, at_other = 1 - at_best;
    // Calls of a region that is not the agreed one say nothing.
    if (seen.means_s[at_best] == unknown_s || seen.means_s[at_other] == unknown_s) {
      if (++trial_.vain_rounds < most_vain_rounds) return next_round();
      known_.store(trial_.candidate, trial_.least_s, trial_.least_s);
      return proceed();
    }
    trial_.rounds.push_back({.best_s = seen.means_s[at_best],
                             .best_least_s = seen.leasts_s[at_best],
                             .other_s = seen.means_s[at_other],
                             .other_least_s = seen.leasts_s[at_other]});
    const Verdict verdict = verdict_of(trial_.rounds, settings_.trusts_least_times);
    if (verdict == Verdict::open) return next_round();
    const int other = trial_.candidate;
    at(chosen()).uncertainty = at(other).uncertainty = uncertainty_of(ratios_of(trial_.rounds));
    known_.store(chosen(), median_of(trial_.rounds, &Round::best_s),
                 median_of(trial_.rounds, &Round::best_least_s));
    known_.store(other, median_of(trial_.rounds, &Round::other_s),
                 median_of(trial_.rounds, &Round::other_least_s));
    if (verdict == Verdict::won) {
      choose(other, ratio_text("", 1 / median_ratio_of(trial_.rounds), " times as fast as what ran before"));
      factor_ = first_factor;
      is_confirmed_ = false;
    }
    return proceed();
  }

  // S3. What was chosen is not given up for a time that another one had long ago: the two are compared again.
  Task adapt(double whole_s, double recent_s) {
    if (whole_s == unknown_s || recent_s == unknown_s) return monitor();
    at(chosen()).quietest_s = std::min({at(chosen()).quietest_s, whole_s, recent_s});
    if (std::exchange(is_of_another_, false)) {
      known_.scale_times(whole_s / time_s(chosen()));
      return stay();
    }
    if (!at(chosen()).is_measured) {
      // Another job's times are not this one's.
      known_.store(chosen(), whole_s, whole_s);
      return stay();
    }
    const double second_s = known_.second_best_s();
    const double bad_s = (1 + settings_.tolerance) * second_s;
    const bool is_bad = second_s != unknown_s && whole_s >= bad_s && recent_s >= bad_s;
    const double slower_s = drift_ratio * time_s(chosen()), faster_s = time_s(chosen()) / drift_ratio;
    const bool has_drifted =
        (whole_s >= slower_s && recent_s >= slower_s) || (whole_s <= faster_s && recent_s <= faster_s);
    if (!is_bad && !has_drifted) return stay();
    const double before_s = std::exchange(at(chosen()).time_s, whole_s);
    at(chosen()).least_s = whole_s;
    known_.forget_others();
    at(chosen()).hint_s = before_s;
    at(chosen()).is_hint_seen = true;
    is_waiting_ = false;
    // A program whose times go up and down must not be stopped by each of these.
    factor_ = has_credit_ ? first_factor : std::min(2 * factor_, settings_.most_factor);
    return proceed(is_bad ? "on trial, since what ran before became slower than the second best was"
                          : "on trial, since the times of what ran before have changed",
                   true);
  }

  Task stay() {
    const bool is_calm = factor_ >= settings_.most_factor;
    factor_ = std::min(2 * factor_, settings_.most_factor);
    has_credit_ = has_credit_ || is_calm;
    if (is_waiting_) return next_round();
    // What was found soon after the beginning, where much is cold, has to be found once more: of the
    // reference and what would be used without learning.
    const int other = known_.rival();
    const bool is_to_confirm =
        !is_confirmed_ && factor_ >= confirming_factor && count() > other && other != chosen();
    if (!is_to_confirm && next_untried() >= 0) return proceed();
    const int k = is_to_confirm ? other : is_calm ? known_.stalest() : -1;
    const double most_cost_s = budget_->balance_s();
    const double cost_s = k < 0 ? 0 : at(k).time_s != unknown_s ? retrial_cost_s(k) : probe_cost_s(k);
    if (k < 0 || cost_s >= most_cost_s || most_cost_s <= 0) return monitor();
    is_confirmed_ = is_confirmed_ || is_to_confirm;
    return probe(k, "tried again, to see whether it is still slower");
  }

  double retrial_cost_s(int k) const { return std::max(time_s(k) - time_s(chosen()), 0.0) * probe_looks(); }

  KnownCandidates known_;
  LearnSettings settings_;
  Budget* budget_;
  std::string why_next_;  // of a choice that is not in use yet
  int factor_ = first_factor;
  bool is_confirmed_ = false;   // the choice, once more
  bool is_of_another_ = false;  // the times, as they stand: of another communicator
  bool has_credit_ = true;      // for the next alarm
  Stage stage_ = Stage::probe;
  bool is_waiting_ = false;  // is the next round, for what it may cost to be earned?
  double agreeing_s_ = 0;    // what it takes to agree, as it was last
  struct Trial {
    int candidate = 0;
    double least_s = unknown_s;  // of its first calls
    int looks = 0;
    int vain_rounds = 0;
    std::vector<Round> rounds;
  };
  Trial trial_;
};

}  // namespace

std::unique_ptr<Policy> make_guarded_policy(std::vector<Candidate> candidates, const LearnSettings& settings,
                                            Budget* budget) {
  return std::make_unique<GuardedPolicy>(std::move(candidates), settings, budget);
}

}  // namespace unisono::tuning
