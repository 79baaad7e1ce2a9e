// SPDX-License-Identifier: BSD-3-Clause
// Which of several algorithms serves a kind of calls best, found out while the program makes them (S2-S4,
// B2). Pure logic, without a clock and without messages. A Learner is fed with this rank's times and with
// what all ranks have agreed on, and says which candidate the next call uses. All that it says follows from
// what was agreed on, and from how many calls there were: so all ranks say the same. docs/guide/learning.md.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuning/decisions/candidate.h"

namespace unisono::tuning {

inline constexpr int first_factor = 2;  // of delta (S3)

struct LearnSettings {
  int iterations = 10;      // ITER: looks at a candidate; the guarded way looks at more of quick calls
  double tolerance = 0.10;  // epsilon
  int most_factor = 64;     // of delta
  bool has_groups = false;  // in the mode `star`
  // In the mode `star`: leave out what is predicted to take so much longer than the fastest prediction (1:
  // twice the time); 0: nothing.
  double prune = 0;
  double budget_share = 0.01;  // of the time in collectives, for trials
  // Of calls in which no rank leaves before all have come: does the least time say something where ranks wait
  // for each other? Not where they share cores.
  bool trusts_least_times = false;
};

// What the calls that are looked at do until the ranks next agree.
struct Task {
  std::vector<int> candidates;  // one after the other; monitoring has one
  int looks = 0;                // at each
  int lead_in = 0;              // so many of these, the first ones at each, do not count
  bool is_monitoring = false;
};

// What all ranks have agreed on at the end of a task.
struct Seen {
  // Measuring: of the looks at each of the task's candidates.
  std::vector<double> means_s, leasts_s;
  // Monitoring: over the whole time, and at its end.
  double whole_s = unknown_s, recent_s = unknown_s;
  std::uint64_t calls = 0;  // of this kind, since the ranks agreed before
  double overhead_s = 0;    // spent on learning itself since then
};

// Where ranks' times are added up: of what all have told, the least of `least` and the sum of `sum`. Joins
// so many of them, as reductions do (shm::Kernel).
struct LeastAndSum {
  std::uint64_t least = 0, sum = 0;
};
void join_least_and_sum(void* into, const void* left, const void* right, std::size_t count);

// Decides on tasks. Everything in it is equal on all ranks.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Task start() = 0;
  virtual Task next(const Task& ended, const Seen& seen) = 0;
  // The one that is used when nothing is being tried.
  virtual int chosen() const = 0;
  // What is known of a candidate; unknown_s: nothing.
  virtual double time_s(int candidate) const = 0;
  // Are calls looked at one by one, as in the source? Of each the mean over the ranks counts, and of these
  // means the least. Otherwise in batches of calls as the program makes them, of which the mean counts.
  virtual bool looks_at_single_calls() const = 0;
  // Was it compared with others in this job? And how uncertain is its time, relative to theirs?
  virtual bool is_measured(int candidate) const = 0;
  virtual double uncertainty(int candidate) const = 0;
  // The least mean time of its batches in this job; unknown_s: none was seen.
  virtual double quietest_s(int candidate) const = 0;
  // Why the last task is what it is, for people.
  const std::string& why() const { return why_; }

 protected:
  std::string why_;
};

// What trials may cost, of all kinds of calls of one communicator together: a share of the time that was
// spent in collectives, less what trials have cost (B2). A trial begins when what it may cost has been
// earned; it may be overdrawn by what the trial costs beyond that.
class Budget {
 public:
  void accrue(double seconds) { balance_s_ += seconds; }
  void spend(double seconds) { balance_s_ -= seconds, spent_s_ += seconds; }
  double balance_s() const { return balance_s_; }
  double spent_s() const { return spent_s_; }

 private:
  double balance_s_ = 0, spent_s_ = 0;
};

// The source's algorithm (S2, S3; with groups S4): all candidates in their order, then Monitor_Adapt.
std::unique_ptr<Policy> make_star_policy(std::vector<Candidate> candidates, const LearnSettings& settings);

// Few candidates, and never at the cost of the program (B2). Candidate 0 is the reference: the host's own
// collective, where that is legal. What would be used without learning serves until something is seen to be
// faster. The budget is the communicator's.
std::unique_ptr<Policy> make_guarded_policy(std::vector<Candidate> candidates, const LearnSettings& settings,
                                            Budget* budget);

// From one call on another candidate runs, and why.
struct Event {
  std::uint64_t call = 0;  // of this kind, from 0
  int candidate = 0;
  bool is_trial = false;  // being measured; else chosen
  std::string why;
};

class Learner {
 public:
  // `is_longest`: the longest rank's time counts, where ranks may leave before all have come; otherwise the
  // shortest one's, which has not waited for others. Where calls are looked at one by one it is the ranks'
  // mean in any case.
  Learner(int candidates, const LearnSettings& settings, std::unique_ptr<Policy> policy, bool is_longest);

  // The candidate that the calls use from now on.
  int candidate() const { return task_.candidates[position_]; }
  // One call in `interval()` is to be looked at, a power of two.
  std::uint32_t interval() const;
  // Must the next call that is looked at begin at the same time on all ranks?
  bool is_next_aligned() const;
  bool is_mean() const { return is_of_single_calls_; }
  bool is_longest() const { return is_longest_ && !is_mean(); }
  bool is_monitoring() const { return task_.is_monitoring; }
  // So many calls are measured from the next one on, one after the other; 0 in the midst of them, and where
  // nothing is measured.
  int batch_to_come() const { return task_.is_monitoring || looks_ != 0 ? 0 : task_.looks; }
  // This rank's time of a call that was looked at; negative: it says nothing. `call`: of this kind, that
  // comes next.
  void look(double seconds, std::uint64_t call);
  // The same for one of the next `plain_looks()`, after which the same candidate goes on and nothing is due.
  int plain_looks() const;
  void look_plainly(double seconds);
  // Must the ranks agree before the next call that is looked at?
  bool is_due() const { return is_due_; }

  // What this rank has to say, and what all have said: the least of each number, and the sum of each of
  // `sums()`. `call`: of this kind, that comes next. `overhead_s` is agreed on as well. `is_soon`: agree
  // again as soon as is usual at the beginning.
  std::vector<std::uint64_t> numbers(double overhead_s) const;
  // As many as numbers() where the ranks' mean counts, else none.
  std::vector<std::uint64_t> sums() const;
  void agree(const std::uint64_t* numbers, const std::uint64_t* sums, std::uint64_t call,
             bool is_soon = false);

  const Policy& policy() const { return *policy_; }
  const std::vector<Event>& events() const { return events_; }
  // Looks at a candidate while it was measured.
  std::uint64_t measured_calls(int candidate) const { return measured_[static_cast<std::size_t>(candidate)]; }
  std::uint64_t agreements() const { return agreements_; }
  // Spent on learning itself, as agreed: while candidates were measured, and while one was watched (O_MS^a
  // and O_MA of S8), seconds.
  double measuring_overhead_s() const { return measuring_overhead_s_; }
  double monitoring_overhead_s() const { return monitoring_overhead_s_; }
  // By how much longer than the best candidate those took that were being measured (O_MS^c of S8), seconds.
  double trial_loss_s() const { return trial_loss_s_; }

 private:
  // Of the looks of one block: this rank's.
  struct Block {
    double sum_s = 0, least_s = unknown_s;
    int looks = 0;
    double mean_s() const { return looks == 0 ? unknown_s : sum_s / looks; }
  };
  void begin(Task task, std::uint64_t call);
  void note(std::uint64_t call);
  void count_loss(const Task& ended, const Seen& seen);
  void close_block();
  // Over what was watched, and at its end.
  std::pair<double, double> watched_s() const;
  // Of each number but the first, where the ranks' mean counts: this rank's times.
  std::vector<double> told_s() const;
  Seen seen_of_least(const std::uint64_t* numbers) const;
  Seen seen_of_means(const std::uint64_t* numbers, const std::uint64_t* sums) const;

  LearnSettings settings_;
  std::unique_ptr<Policy> policy_;
  bool is_longest_, is_of_single_calls_;
  bool is_due_ = false;
  Task task_;
  std::size_t position_ = 0;  // in the task
  int looks_ = 0;             // at the position
  Block block_;
  std::vector<Block> blocks_;    // those that are over
  std::vector<double> looks_s_;  // one by one, where the ranks' mean counts
  std::uint64_t agreed_at_ = 0;  // call
  std::uint64_t agreements_ = 0;
  double measuring_overhead_s_ = 0, monitoring_overhead_s_ = 0, trial_loss_s_ = 0;
  std::vector<std::uint64_t> measured_;
  std::vector<Event> events_;
};

// Times as numbers of which the least can be agreed on, and of which all MPIs find the least.
std::uint64_t time_number(double seconds, bool is_longest);
double time_of(std::uint64_t number, bool is_longest);

}  // namespace unisono::tuning
