// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace unisono::tuning {
namespace {

// A sixteenth of a nanosecond; below 2^62, since MPICH 4 takes the largest unsigned number for the least.
constexpr double ticks_a_second = 16e9;
constexpr std::uint64_t no_time = std::uint64_t{1} << 62;
constexpr double most_ticks = 1e18;
// Of a time that is added up: the sum over a million ranks stays below no_time. That is 275 s.
constexpr double most_summed_ticks = 4398046511104.0;

// Two looks at the clock take 46 ns, and what is done with them as much again: that shall be little of a
// call.
constexpr double quick_call_s = 5e-6, middle_call_s = 50e-6, long_call_s = 1e-3;
constexpr std::uint32_t interval_of_quick = 64, interval_of_middle = 16;
// From the beginning of a batch to that of the next one, in calls.
constexpr std::uint32_t batch_interval_of_quick = 1024, batch_interval_of_middle = 256, batch_interval = 64;

// A call that takes so many times as long as the quickest one of its batch was disturbed: one interrupt takes
// as long as a whole batch of quick calls.
constexpr double disturbed_ratio = 16;

constexpr std::size_t most_events = 200;

bool is_known(double seconds) {
  return seconds >= 0 && seconds != unknown_s;
}

std::uint64_t summed_ticks(double seconds) {
  if (!is_known(seconds)) return 0;
  return static_cast<std::uint64_t>(std::min(seconds * ticks_a_second, most_summed_ticks));
}

// In the order in which the ranks have put them together: `one` gives the next time, `block` that of a
// candidate's calls.
template <class One, class OfCandidate>
Seen seen_in_order(const Task& task, One one, OfCandidate block) {
  Seen seen;
  if (task.is_monitoring) {
    seen.whole_s = one();
    seen.recent_s = one();
    return seen;
  }
  for (std::size_t i = 0; i < task.candidates.size(); ++i) {
    const auto [mean_s, least_s] = block();
    seen.means_s.push_back(mean_s);
    seen.leasts_s.push_back(least_s);
  }
  return seen;
}

}  // namespace

void join_least_and_sum(void* into, const void* left, const void* right, std::size_t count) {
  auto* to = static_cast<LeastAndSum*>(into);
  const auto* a = static_cast<const LeastAndSum*>(left);
  const auto* b = static_cast<const LeastAndSum*>(right);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = {.least = std::min(a[i].least, b[i].least), .sum = a[i].sum + b[i].sum};
}

std::uint64_t time_number(double seconds, bool is_longest) {
  if (!is_known(seconds)) return no_time;
  const auto ticks = static_cast<std::uint64_t>(std::min(seconds * ticks_a_second, most_ticks));
  return is_longest ? no_time - 1 - ticks : ticks;
}

double time_of(std::uint64_t number, bool is_longest) {
  if (number >= no_time) return unknown_s;
  return static_cast<double>(is_longest ? no_time - 1 - number : number) / ticks_a_second;
}

Learner::Learner(int candidates, const LearnSettings& settings, std::unique_ptr<Policy> policy,
                 bool is_longest)
    : settings_(settings),
      policy_(std::move(policy)),
      is_longest_(is_longest),
      is_of_single_calls_(policy_->looks_at_single_calls()),
      measured_(static_cast<std::size_t>(candidates)) {
  begin(policy_->start(), 0);
}

void Learner::begin(Task task, std::uint64_t call) {
  task_ = std::move(task);
  position_ = 0;
  looks_ = 0;
  is_due_ = false;
  block_ = {};
  blocks_.clear();
  looks_s_.clear();
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
  if (!is_of_single_calls_) {
    const bool is_in_batch = looks_ % settings_.iterations != 0;
    if (is_in_batch || time_s >= long_call_s) return 1;
    return by_time(batch_interval_of_quick, batch_interval_of_middle, batch_interval);
  }
  return by_time(interval_of_quick, interval_of_middle, 1);
}

// A batch begins in step where the longest rank's time counts. Of ranks that run ahead of each other the last
// one would bring along what it has to catch up with. What is watched goes on as it does.
bool Learner::is_next_aligned() const {
  return is_longest() && !task_.is_monitoring && looks_ == 0;
}

void Learner::close_block() {
  blocks_.push_back(block_);
  block_ = {};
}

int Learner::plain_looks() const {
  const bool may_skip = !is_of_single_calls_ && !is_due_ && looks_ > 0;
  if (!may_skip) return 0;
  const int to_the_end = task_.looks - looks_;
  if (!task_.is_monitoring) return to_the_end - 1;
  const int of_block = looks_ % settings_.iterations;
  return of_block == 0 ? 0 : std::min(settings_.iterations - of_block, to_the_end) - 1;
}

void Learner::look_plainly(double seconds) {
  if (seconds >= 0 && looks_ >= task_.lead_in) {
    block_.least_s = std::min(block_.least_s, seconds);
    // Where ranks run ahead of each other, a long call may be what the short ones before it have saved. And
    // the source takes what it sees.
    const bool is_all = is_longest_ || is_of_single_calls_;
    block_.sum_s += is_all ? seconds : std::min(seconds, disturbed_ratio * block_.least_s);
    ++block_.looks;
  }
  if (is_of_single_calls_ && !task_.is_monitoring) looks_s_.push_back(seconds);
  ++looks_;
  if (!task_.is_monitoring) ++measured_[static_cast<std::size_t>(candidate())];
}

void Learner::look(double seconds, std::uint64_t call) {
  if (is_due_) return;
  look_plainly(seconds);
  if (task_.is_monitoring) {
    if (looks_ % settings_.iterations == 0 || looks_ == task_.looks) close_block();
    is_due_ = looks_ == task_.looks;
    return;
  }
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

std::pair<double, double> Learner::watched_s() const {
  double sum_s = 0;
  int known = 0;
  for (const Block& block : blocks_) {
    if (block.looks == 0) continue;
    sum_s += block.mean_s();
    ++known;
  }
  return {known == 0 ? unknown_s : sum_s / known, blocks_.back().mean_s()};
}

// The source's matrix of times (Dist_Time): of each algorithm, of each of its calls.
std::vector<double> Learner::told_s() const {
  if (!task_.is_monitoring) return looks_s_;
  const auto [whole_s, recent_s] = watched_s();
  return {whole_s, recent_s};
}

std::vector<std::uint64_t> Learner::numbers(double overhead_s) const {
  std::vector<std::uint64_t> numbers = {time_number(overhead_s, false)};
  if (is_of_single_calls_) {
    for (const double seconds : told_s()) numbers.push_back(is_known(seconds) ? 1 : 0);
    return numbers;
  }
  const auto add = [&](double seconds) { numbers.push_back(time_number(seconds, is_longest_)); };
  if (task_.is_monitoring) {
    const auto [whole_s, recent_s] = watched_s();
    add(whole_s);
    add(recent_s);
    return numbers;
  }
  for (const Block& block : blocks_) {
    add(block.mean_s());
    add(block.least_s);
  }
  return numbers;
}

// The first one counts the ranks.
std::vector<std::uint64_t> Learner::sums() const {
  if (!is_of_single_calls_) return {};
  std::vector<std::uint64_t> sums = {1};
  for (const double seconds : told_s()) sums.push_back(summed_ticks(seconds));
  return sums;
}

Seen Learner::seen_of_least(const std::uint64_t* numbers) const {
  const auto take = [&] { return time_of(*numbers++, is_longest_); };
  return seen_in_order(task_, take, [&] {
    const double mean_s = take();
    return std::pair(mean_s, take());
  });
}

// A call of which some rank has no time says nothing: the mean of the others is not to be compared with that
// of all.
Seen Learner::seen_of_means(const std::uint64_t* numbers, const std::uint64_t* sums) const {
  const double ranks = static_cast<double>(*sums++);
  const auto take = [&] {
    const double sum_s = static_cast<double>(*sums++) / ticks_a_second;
    return *numbers++ == 0 ? unknown_s : sum_s / ranks;
  };
  return seen_in_order(task_, take, [&] {
    Block calls;
    for (int look = 0; look < task_.looks; ++look) {
      const double mean_s = take();
      if (mean_s == unknown_s) continue;
      calls.least_s = std::min(calls.least_s, mean_s);
      calls.sum_s += mean_s;
      ++calls.looks;
    }
    return std::pair(calls.mean_s(), calls.least_s);
  });
}

void Learner::agree(const std::uint64_t* numbers, const std::uint64_t* sums, std::uint64_t call,
                    bool is_soon) {
  Seen seen = is_of_single_calls_ ? seen_of_means(numbers + 1, sums) : seen_of_least(numbers + 1);
  seen.calls = call - agreed_at_;
  seen.overhead_s = time_of(numbers[0], false);
  ++agreements_;
  if (seen.overhead_s == unknown_s) seen.overhead_s = 0;
  (task_.is_monitoring ? monitoring_overhead_s_ : measuring_overhead_s_) += seen.overhead_s;
  const Task ended = std::move(task_);
  count_loss(ended, seen);
  Task task = policy_->next(ended, seen);
  if (is_soon && task.is_monitoring) task.looks = std::min(task.looks, first_factor * settings_.iterations);
  begin(std::move(task), call);
}

// Against what was the best then: a program whose times change makes all that was seen before worthless.
void Learner::count_loss(const Task& ended, const Seen& seen) {
  double best_s = policy_->time_s(policy_->chosen());
  for (const double mean_s : seen.means_s) best_s = std::min(best_s, mean_s);
  for (const double mean_s : seen.means_s) {
    if (mean_s != unknown_s) trial_loss_s_ += (mean_s - best_s) * ended.looks;
  }
}

}  // namespace unisono::tuning
