// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace unisono::tuning {
namespace {

// A sixteenth of a nanosecond; below 2^62, since MPICH 4 takes the largest unsigned number for the least.
constexpr double ticks_a_second = 16e9;
constexpr std::uint64_t no_time = std::uint64_t{1} << 62;
constexpr double most_ticks = 1e18;

// Two looks at the clock take 46 ns, and what is done with them as much again: that shall be little of a
// call.
constexpr double quick_call_s = 5e-6, middle_call_s = 50e-6;
constexpr std::uint32_t interval_of_quick = 64, interval_of_middle = 16;
// A barrier before a call costs a good part of a call.
constexpr std::uint32_t aligned_interval_of_quick = 256, aligned_interval_of_middle = 128,
                        aligned_interval = 32;

constexpr std::size_t most_events = 200;

}  // namespace

std::uint64_t time_number(double seconds, bool is_longest) {
  if (!(seconds >= 0) || seconds == unknown_s) return no_time;
  const auto ticks = static_cast<std::uint64_t>(std::min(seconds * ticks_a_second, most_ticks));
  return is_longest ? no_time - 1 - ticks : ticks;
}

double time_of(std::uint64_t number, bool is_longest) {
  if (number >= no_time) return unknown_s;
  return static_cast<double>(is_longest ? no_time - 1 - number : number) / ticks_a_second;
}

Learner::Learner(int candidates, const LearnSettings& settings, std::unique_ptr<Policy> policy,
                 bool is_aligned)
    : settings_(settings),
      policy_(std::move(policy)),
      is_aligned_(is_aligned),
      measured_(static_cast<std::size_t>(candidates)) {
  begin(policy_->start(), 0);
}

void Learner::begin(Task task, std::uint64_t call) {
  task_ = std::move(task);
  position_ = 0;
  looks_ = 0;
  is_due_ = false;
  block_s_ = unknown_s;
  blocks_s_.clear();
  agreed_at_ = call;
  note(call);
}

void Learner::note(std::uint64_t call) {
  const bool is_trial = !task_.is_monitoring;
  const bool is_new =
      events_.empty() || events_.back().candidate != candidate() || events_.back().is_trial != is_trial;
  if (is_new && events_.size() < most_events)
    events_.push_back({call, candidate(), is_trial, policy_->why()});
}

std::uint32_t Learner::interval() const {
  if (!task_.is_monitoring) return 1;
  const double time_s = policy_->time_s(candidate());
  const auto by_time = [time_s](std::uint32_t quick, std::uint32_t middle, std::uint32_t other) {
    return time_s < quick_call_s ? quick : time_s < middle_call_s ? middle : other;
  };
  return is_aligned_ ? by_time(aligned_interval_of_quick, aligned_interval_of_middle, aligned_interval)
                     : by_time(interval_of_quick, interval_of_middle, 1);
}

// The least of a block: skew and disturbances only ever add to a call's time.
void Learner::close_block() {
  blocks_s_.push_back(block_s_);
  block_s_ = unknown_s;
}

void Learner::look(double seconds, std::uint64_t call) {
  if (is_due_) return;
  if (seconds >= 0) block_s_ = std::min(block_s_, seconds);
  ++looks_;
  if (task_.is_monitoring) {
    if (looks_ % settings_.iterations == 0 || looks_ == task_.looks) close_block();
    is_due_ = looks_ == task_.looks;
    return;
  }
  ++measured_[static_cast<std::size_t>(candidate())];
  if (looks_ != task_.looks) return;
  close_block();
  looks_ = 0;
  // The last candidate goes on until the ranks have agreed.
  if (position_ + 1 == task_.candidates.size()) {
    is_due_ = true;
  } else {
    ++position_;
    note(call);
  }
}

std::vector<std::uint64_t> Learner::numbers(double overhead_s) const {
  std::vector<std::uint64_t> numbers = {time_number(overhead_s, false)};
  if (!task_.is_monitoring) {
    for (const double time_s : blocks_s_) numbers.push_back(time_number(time_s, is_aligned_));
    return numbers;
  }
  double sum_s = 0;
  int known = 0;
  for (const double time_s : blocks_s_) {
    if (time_s == unknown_s) continue;
    sum_s += time_s;
    ++known;
  }
  numbers.push_back(time_number(known == 0 ? unknown_s : sum_s / known, is_aligned_));
  numbers.push_back(time_number(blocks_s_.back(), is_aligned_));
  return numbers;
}

void Learner::agree(const std::uint64_t* numbers, std::uint64_t call, bool is_soon) {
  Seen seen{.calls = call - agreed_at_, .overhead_s = time_of(numbers[0], false)};
  const std::size_t count = task_.is_monitoring ? 2 : task_.candidates.size();
  for (std::size_t i = 0; i < count; ++i) seen.times_s.push_back(time_of(numbers[1 + i], is_aligned_));
  ++agreements_;
  if (seen.overhead_s == unknown_s) seen.overhead_s = 0;
  (task_.is_monitoring ? monitoring_overhead_s_ : measuring_overhead_s_) += seen.overhead_s;
  const Task ended = std::move(task_);
  Task task = policy_->next(ended, seen);
  if (is_soon && task.is_monitoring) task.looks = std::min(task.looks, first_factor * settings_.iterations);
  begin(std::move(task), call);
}

double Learner::trial_loss_s() const {
  const double best_s = policy_->time_s(policy_->chosen());
  double loss_s = 0;
  for (std::size_t k = 0; k < measured_.size(); ++k) {
    const double time_s = policy_->time_s(static_cast<int>(k));
    if (time_s == unknown_s || best_s == unknown_s) continue;
    loss_s += std::max(time_s - best_s, 0.0) * static_cast<double>(measured_[k]);
  }
  return loss_s;
}

}  // namespace unisono::tuning
