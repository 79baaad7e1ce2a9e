// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/known_candidates.h"

#include <algorithm>
#include <utility>

namespace unisono::tuning {
namespace {

// What is known to be slower than so many times the best is not tried again to see whether that still holds.
constexpr double retrial_ratio = 2;
// The model is believed to be wrong by so many times at most.
constexpr double most_off = 5;

}  // namespace

KnownCandidates::KnownCandidates(std::vector<Candidate> candidates)
    : candidates_(std::move(candidates)), known_(candidates_.size()) {
  const auto flagged = std::ranges::find_if(candidates_, &Candidate::is_usual);
  usual_ = flagged == candidates_.end() ? 1 : static_cast<int>(flagged - candidates_.begin());
}

int KnownCandidates::take_known() {
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
  if (before >= 0) at(before).time_s = at(before).least_s = at(before).hint_s;
  return before;
}

void KnownCandidates::store(int k, double time_s, double least_s) {
  at(k).time_s = time_s;
  at(k).least_s = least_s;
  at(k).quietest_s = std::min(at(k).quietest_s, time_s);
  at(k).is_tried = at(k).is_measured = true;
  at(k).tried_at = ++trials_;
}

int KnownCandidates::rival() const {
  if (chosen_ == reference || (chosen_ != usual_ && count() > usual_ && time_s(usual_) < time_s(reference)))
    return usual_;
  return reference;
}

void KnownCandidates::scale_times(double ratio) {
  for (Known& state : known_) {
    if (state.time_s != unknown_s) state.time_s *= ratio, state.least_s *= ratio;
  }
}

void KnownCandidates::forget_others() {
  for (int k = 0; k < count(); ++k) {
    if (k == chosen_) continue;
    Known& other = at(k);
    if (other.time_s != unknown_s) other.hint_s = other.time_s, other.is_hint_seen = true;
    other.time_s = other.least_s = unknown_s;
    other.is_tried = false;
  }
}

double KnownCandidates::second_best_s() const {
  double least_s = unknown_s;
  for (int k = 0; k < count(); ++k) {
    if (k != chosen_) least_s = std::min(least_s, time_s(k));
  }
  return least_s;
}

bool KnownCandidates::may_try(int k) const {
  const Known& state = at(k);
  if (k == chosen_ || state.is_tried) return false;
  return state.hint_s == 0 || state.is_hint_seen || state.hint_s <= most_slowdown * time_s(reference);
}

int KnownCandidates::next_untried(bool may_ask_model) {
  for (const int k : {chosen_ == reference ? reference : usual_, reference, usual_}) {
    if (k < count() && may_try(k)) return k;
  }
  for (int k = 0; k < count(); ++k) {
    if (candidates_[static_cast<std::size_t>(k)].is_suggested && may_try(k)) return k;
  }
  if (!is_model_asked_) {
    if (!may_ask_model) return -1;
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

// What the model expects, on a machine on which what would be used without learning takes as long as it did.
// What it says of machines that nobody has measured holds in proportion at best.
void KnownCandidates::ask_model() {
  is_model_asked_ = true;
  std::vector<double> predicted_s(known_.size());
  for (std::size_t k = 0; k < known_.size(); ++k) predicted_s[k] = candidates_[k].predicted_s();
  double scale = 1;
  if (count() > usual_ && predicted_s[static_cast<std::size_t>(usual_)] > 0 && time_s(usual_) != unknown_s)
    scale =
        std::clamp(time_s(usual_) / predicted_s[static_cast<std::size_t>(usual_)], 1 / most_off, most_off);
  for (std::size_t k = 0; k < known_.size(); ++k) {
    if (!known_[k].is_hint_seen) known_[k].hint_s = scale * predicted_s[k];
  }
}

bool KnownCandidates::is_represented(const std::string& name) const {
  for (int k = 0; k < count(); ++k) {
    const Known& state = at(k);
    if (group(k) == name && (state.is_tried || state.hint_s > 0)) return true;
  }
  return false;
}

bool KnownCandidates::is_promising(const std::string& name) const {
  for (int k = 0; k < count(); ++k) {
    if (group(k) == name && time_s(k) <= hopeless_ratio * time_s(chosen_)) return true;
  }
  return false;
}

int KnownCandidates::stalest() const {
  int found = -1;
  for (int k = 0; k < count(); ++k) {
    if (k == chosen_ || time_s(k) > retrial_ratio * time_s(chosen_)) continue;
    if (found < 0 || at(k).tried_at < at(found).tried_at) found = k;
  }
  return found;
}

}  // namespace unisono::tuning
