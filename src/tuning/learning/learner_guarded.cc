// SPDX-License-Identifier: BSD-3-Clause
// Learning that costs the program next to nothing (B2): the reference, then few others, one at a time,
// each given up as soon as it is seen to be slow, all paid for by a budget.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuning/learning/comparison.h"
#include "tuning/learning/learner.h"

namespace unisono::tuning {
namespace {

// What is predicted, or was once seen, to take longer than so many times the reference is not tried.
constexpr double most_slowdown = 3;
// Of what nothing is known: so many times as long as what is in use.
constexpr double assumed_slowdown = 3;
// Whatever another job has seen: its day may have been a bad one.
constexpr double most_expected_slowdown = 10;
// What the model takes to say something of a candidate.
constexpr double prediction_s = 50e-6;
// After its first calls a trial goes on where it may still win. First calls meet memory that was never
// touched, which is much of a quick call.
constexpr double hopeless_ratio = 1.25, hopeless_ratio_of_quick = 2;
// What would be used without learning is trusted: where its first calls were slow it is given so many times
// as many calls, in which all slots of the shared memory come round.
constexpr int usual_looks_ratio = 2;
constexpr double hopeless_ratio_of_usual = 10;
// Slower or faster than it was by so much: the program or the machine is another now, and old times say
// nothing.
constexpr double drift_ratio = 1.5;
// What is known to be slower than so many times the best is not tried again to see whether that still holds.
constexpr double retrial_ratio = 2;
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
// The model is believed to be wrong by so many times at most.
constexpr double most_off = 5;
constexpr int most_vain_rounds = 3;

// What all is compared with.
constexpr int reference = 0;

class GuardedPolicy : public Policy {
 public:
  GuardedPolicy(std::vector<Candidate> candidates, const LearnSettings& settings, Budget* budget)
      : candidates_(std::move(candidates)), settings_(settings), budget_(budget), of_(candidates_.size()) {
    const auto flagged = std::ranges::find_if(candidates_, &Candidate::is_usual);
    usual_ = flagged == candidates_.end() ? 1 : static_cast<int>(flagged - candidates_.begin());
  }

  // What other jobs knew says what to begin with, and what to try first: not what is so. What was measured on
  // another communicator of this job is not measured again, but for one comparison (rival).
  Task start() override {
    int before = -1;
    for (int k = 0; k < count(); ++k) {
      const Candidate& candidate = candidates_[static_cast<std::size_t>(k)];
      if (candidate.known_s <= 0) continue;
      at(k).hint_s = candidate.known_s;
      at(k).is_hint_seen = true;
      if (candidate.is_of_this_job) {
        store(k, candidate.known_s, candidate.known_s);
        at(k).uncertainty = candidate.uncertainty;
      }
      if (!candidate.chosen_by.empty()) before = k;
    }
    if (before < 0) {
      choose(std::min(usual_, count() - 1), "what is used without learning");
    } else {
      at(before).time_s = at(before).least_s = at(before).hint_s;
      choose(before, candidates_[static_cast<std::size_t>(before)].chosen_by);
    }
    is_of_another_ = at(chosen_).is_measured;
    return monitor();
  }

  Task next(const Task& ended, const Seen& seen) override {
    account(ended, seen);
    if (ended.is_monitoring) return adapt(seen.whole_s, seen.recent_s);
    return stage_ == Stage::probe ? judge_probe(ended, seen.leasts_s.front()) : judge_round(ended, seen);
  }

  bool looks_at_single_calls() const override { return false; }
  int chosen() const override { return chosen_; }
  double time_s(int candidate) const override { return at(candidate).time_s; }
  bool is_measured(int candidate) const override { return at(candidate).is_measured; }
  double uncertainty(int candidate) const override { return at(candidate).uncertainty; }
  double quietest_s(int candidate) const override { return at(candidate).quietest_s; }

 private:
  enum class Stage : std::uint8_t { probe, duel };
  struct State {
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
  State& at(int k) { return of_[static_cast<std::size_t>(k)]; }
  const State& at(int k) const { return of_[static_cast<std::size_t>(k)]; }
  int count() const { return static_cast<int>(of_.size()); }
  const std::string& group(int k) const { return candidates_[static_cast<std::size_t>(k)].group; }

  void store(int k, double time, double least) {
    at(k).time_s = time;
    at(k).least_s = least;
    at(k).quietest_s = std::min(at(k).quietest_s, time);
    at(k).is_tried = at(k).is_measured = true;
    at(k).tried_at = ++trials_;
  }

  // What the calls since then have earned, and what they have cost.
  void account(const Task& ended, const Seen& seen) {
    const auto calls = static_cast<double>(seen.calls);
    double best_s = time_s(chosen_);
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
      if (ended.candidates[i] != chosen_)
        budget_->spend(std::max(took_s - best_s, 0.0) * static_cast<double>(ended.looks));
    }
  }

  void choose(int k, std::string why) {
    chosen_ = k;
    why_next_ = std::move(why);
  }

  Task monitor() {
    // A reason is of one change: what is used again after a trial has shown something else by that.
    why_ = why_next_.empty() ? "kept: what was tried was not faster" : std::exchange(why_next_, {});
    const double most_periods = long_period_s / (time_s(chosen_) * settings_.iterations);
    const int periods = std::clamp(static_cast<int>(std::min<double>(most_periods, factor_)), first_factor,
                                   std::max(factor_, first_factor));
    return {.candidates = {chosen_}, .looks = periods * settings_.iterations, .is_monitoring = true};
  }

  // The next trial, where there is something to be tried that can be paid for. What to fall back on, where
  // the choice has turned bad, is tried on credit.
  Task proceed(const char* why = "on trial", bool may_borrow = false) {
    const int next = next_untried();
    if (next < 0) return monitor();
    const bool is_on_credit = may_borrow && next == reference && std::exchange(has_credit_, false);
    return is_on_credit || is_paid(probe_cost_s(next)) ? probe(next, why) : monitor();
  }

  // Has it been earned? And what agreeing on it takes.
  bool is_paid(double cost_s) const { return budget_->balance_s() > cost_s + agreeing_s_; }
  // By how much longer the first calls take, where nobody has seen any: they may take that many times as
  // long.
  double probe_cost_s(int k) const {
    const double best_s = time_s(chosen_);
    const double expected_s = at(k).hint_s > 0 ? std::min(at(k).hint_s, most_expected_slowdown * best_s)
                                               : assumed_slowdown * best_s;
    return std::max(expected_s - best_s, 0.0) * probe_looks();
  }

  bool is_long() const { return time_s(chosen_) > long_call_s; }
  int probe_looks() const {
    return is_long() ? 1 : time_s(chosen_) < batch_kinds[0].below_s ? settings_.iterations : 2;
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
    const double best_s = std::min(at(chosen_).least_s, time_s(chosen_));
    const double hopeless = best_s < quick_call_s ? hopeless_ratio_of_quick : hopeless_ratio;
    if (trial_.least_s <= hopeless * best_s) return next_round();
    const double hopeless_usual = is_long() ? most_slowdown : hopeless_ratio_of_usual;
    const int wanted = usual_looks_ratio * (is_long() ? looks_at_long_calls : settings_.iterations);
    if (k == usual_ && trial_.least_s <= hopeless_usual * best_s && trial_.looks < wanted &&
        is_paid((trial_.least_s - best_s) * (wanted - trial_.looks)))
      return {.candidates = {k}, .looks = wanted - trial_.looks};
    store(k, trial_.least_s, trial_.least_s);
    return proceed();
  }

  // The next round, or more calls as before until it can be paid for.
  Task next_round() {
    Task task = round();
    const double other_s = trial_.rounds.empty() ? trial_.least_s : trial_.rounds.back().other_s;
    is_waiting_ = !is_paid(std::max(other_s - time_s(chosen_), 0.0) * task.looks);
    return is_waiting_ ? monitor() : task;
  }

  // A round of the comparison: a batch of what is used and one of what is on trial, the other way round in
  // every second one, so that what changes by and by favours neither.
  Task round() {
    stage_ = Stage::duel;
    why_ = "compared with each other, batch by batch";
    Task task{.looks = looks_at_long_calls + 1, .lead_in = 1};
    for (const BatchKind& kind : batch_kinds) {
      if (time_s(chosen_) >= kind.below_s) continue;
      task.lead_in = kind.lead_in;
      task.looks = kind.looks_of_iterations * settings_.iterations + kind.lead_in;
      break;
    }
    task.candidates = {chosen_, trial_.candidate};
    if (trial_.rounds.size() % 2 != 0) std::swap(task.candidates[0], task.candidates[1]);
    return task;
  }

  Task judge_round(const Task& ended, const Seen& seen) {
    const std::size_t at_best = ended.candidates[0] == chosen_ ? 0 : 1, at_other = 1 - at_best;
    // Calls of a region that is not the agreed one say nothing.
    if (seen.means_s[at_best] == unknown_s || seen.means_s[at_other] == unknown_s) {
      if (++trial_.vain_rounds < most_vain_rounds) return next_round();
      store(trial_.candidate, trial_.least_s, trial_.least_s);
      return proceed();
    }
    trial_.rounds.push_back({.best_s = seen.means_s[at_best],
                             .best_least_s = seen.leasts_s[at_best],
                             .other_s = seen.means_s[at_other],
                             .other_least_s = seen.leasts_s[at_other]});
    const Verdict verdict = verdict_of(trial_.rounds, settings_.trusts_least_times);
    if (verdict == Verdict::open) return next_round();
    const int other = trial_.candidate;
    at(chosen_).uncertainty = at(other).uncertainty = uncertainty_of(ratios_of(trial_.rounds));
    store(chosen_, median_of(trial_.rounds, &Round::best_s), median_of(trial_.rounds, &Round::best_least_s));
    store(other, median_of(trial_.rounds, &Round::other_s), median_of(trial_.rounds, &Round::other_least_s));
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
    at(chosen_).quietest_s = std::min({at(chosen_).quietest_s, whole_s, recent_s});
    if (std::exchange(is_of_another_, false)) {
      scale_times(whole_s / time_s(chosen_));
      return stay();
    }
    if (!at(chosen_).is_measured) {
      // Another job's times are not this one's.
      store(chosen_, whole_s, whole_s);
      return stay();
    }
    const double second_s = second_best_s();
    const double bad_s = (1 + settings_.tolerance) * second_s;
    const bool is_bad = second_s != unknown_s && whole_s >= bad_s && recent_s >= bad_s;
    const double slower_s = drift_ratio * time_s(chosen_), faster_s = time_s(chosen_) / drift_ratio;
    const bool has_drifted =
        (whole_s >= slower_s && recent_s >= slower_s) || (whole_s <= faster_s && recent_s <= faster_s);
    if (!is_bad && !has_drifted) return stay();
    const double before_s = std::exchange(at(chosen_).time_s, whole_s);
    at(chosen_).least_s = whole_s;
    forget_others();
    at(chosen_).hint_s = before_s;
    at(chosen_).is_hint_seen = true;
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
    const int other = rival();
    const bool is_to_confirm =
        !is_confirmed_ && factor_ >= confirming_factor && count() > other && other != chosen_;
    if (!is_to_confirm && next_untried() >= 0) return proceed();
    const int k = is_to_confirm ? other : is_calm ? stalest() : -1;
    const double most_cost_s = budget_->balance_s();
    const double cost_s = k < 0 ? 0 : at(k).time_s != unknown_s ? retrial_cost_s(k) : probe_cost_s(k);
    if (k < 0 || cost_s >= most_cost_s || most_cost_s <= 0) return monitor();
    is_confirmed_ = is_confirmed_ || is_to_confirm;
    return probe(k, "tried again, to see whether it is still slower");
  }

  // Who is to be compared with the choice once more: the faster one of the reference and of what would be
  // used without learning.
  int rival() const {
    if (chosen_ == reference || (chosen_ != usual_ && count() > usual_ && time_s(usual_) < time_s(reference)))
      return usual_;
    return reference;
  }

  // On another communicator ranks wait for each other for longer, or less long. That says nothing of the
  // algorithms.
  void scale_times(double ratio) {
    for (State& state : of_) {
      if (state.time_s != unknown_s) state.time_s *= ratio, state.least_s *= ratio;
    }
  }

  // Times of another program, as it were: good for the order of trials only.
  void forget_others() {
    for (int k = 0; k < count(); ++k) {
      if (k == chosen_) continue;
      State& other = at(k);
      if (other.time_s != unknown_s) other.hint_s = other.time_s, other.is_hint_seen = true;
      other.time_s = other.least_s = unknown_s;
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
  int next_untried() {
    for (const int k : {chosen_ == reference ? reference : usual_, reference, usual_}) {
      if (k < count() && may_try(k)) return k;
    }
    for (int k = 0; k < count(); ++k) {
      if (candidates_[static_cast<std::size_t>(k)].is_suggested && may_try(k)) return k;
    }
    if (!is_model_asked_) {
      if (!is_paid(prediction_s * count())) return -1;
      ask_model();
    }
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

  // What the model expects, on a machine on which what would be used without learning takes as long as it
  // did: what it says of machines that nobody has measured holds in proportion at best.
  void ask_model() {
    is_model_asked_ = true;
    std::vector<double> predicted_s(of_.size());
    for (std::size_t k = 0; k < of_.size(); ++k) predicted_s[k] = candidates_[k].predicted_s();
    double scale = 1;
    if (count() > usual_ && predicted_s[static_cast<std::size_t>(usual_)] > 0 && time_s(usual_) != unknown_s)
      scale =
          std::clamp(time_s(usual_) / predicted_s[static_cast<std::size_t>(usual_)], 1 / most_off, most_off);
    for (std::size_t k = 0; k < of_.size(); ++k) {
      if (!of_[k].is_hint_seen) of_[k].hint_s = scale * predicted_s[k];
    }
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
  int usual_ = 1;  // what would be used without learning
  int chosen_ = 0;
  std::string why_next_;  // of a choice that is not in use yet
  int factor_ = first_factor;
  bool is_confirmed_ = false;   // the choice, once more
  bool is_of_another_ = false;  // the times, as they stand: of another communicator
  bool is_model_asked_ = false;
  bool has_credit_ = true;  // for the next alarm
  std::uint64_t trials_ = 0;
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
