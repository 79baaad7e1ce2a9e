// SPDX-License-Identifier: BSD-3-Clause
// Which of several algorithms serves a kind of calls best, found out while the program makes them (S2-S4,
// B2). Pure logic, without a clock and without messages: a Learner is fed with this rank's times and with
// what all ranks have agreed on, and says which candidate the next call uses. All that it says follows from
// what was agreed on, and from how many calls there were: so all ranks say the same. docs/learning.md.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace unisono::tuning {

inline constexpr double unknown_s = std::numeric_limits<double>::infinity();

inline constexpr int first_factor = 2;  // of delta (S3)

struct Candidate {
  std::string group;       // of the repository (S4)
  double predicted_s = 0;  // by the model; 0: it was not asked
  double known_s = 0;      // learned by an earlier job; 0: nothing
};

struct LearnSettings {
  int iterations = 10;         // ITER: looks at a candidate
  double tolerance = 0.10;     // epsilon
  int most_factor = 64;        // of delta
  bool has_groups = false;     // in the mode `star`
  double budget_share = 0.01;  // of the time in collectives, for trials
};

// What the calls that are looked at do until the ranks next agree.
struct Task {
  std::vector<int> candidates;  // one after the other; monitoring has one
  int looks = 0;                // at each
  bool is_monitoring = false;
};

// What all ranks have agreed on at the end of a task.
struct Seen {
  // Measuring: the time of each of the task's candidates. Monitoring: over the whole time, and at its end.
  std::vector<double> times_s;
  std::uint64_t calls = 0;  // of this kind, since the ranks agreed before
  double overhead_s = 0;    // spent on learning itself since then
};

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
  // Why the last task is what it is, for people.
  const std::string& why() const { return why_; }

 protected:
  std::string why_;
};

// What trials may cost, of all kinds of calls of one communicator together: a share of the time that was
// spent in collectives, less what trials have cost. May be overdrawn by one trial, and by the first one of
// each kind of calls (B2).
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
// collective, where that is legal; candidate 1 what would be used without learning. The budget is the
// communicator's.
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
  // `is_aligned`: calls that are looked at begin at the same time on all ranks, and the longest rank's time
  // counts; otherwise the shortest one's.
  Learner(int candidates, const LearnSettings& settings, std::unique_ptr<Policy> policy, bool is_aligned);

  // The candidate that the calls use from now on.
  int candidate() const { return task_.candidates[position_]; }
  // One call in `interval()` is to be looked at, a power of two.
  std::uint32_t interval() const;
  bool is_aligned() const { return is_aligned_; }
  bool is_monitoring() const { return task_.is_monitoring; }
  // This rank's time of a call that was looked at; negative: it says nothing. `call`: of this kind, that
  // comes next.
  void look(double seconds, std::uint64_t call);
  // Must the ranks agree before the next call that is looked at?
  bool is_due() const { return is_due_; }

  // What this rank has to say, and what all have said: the least of each number. `call`: of this kind, that
  // comes next. `overhead_s` is agreed on as well. `is_soon`: agree again as soon as is usual at the
  // beginning.
  std::vector<std::uint64_t> numbers(double overhead_s) const;
  void agree(const std::uint64_t* numbers, std::uint64_t call, bool is_soon = false);

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
  double trial_loss_s() const;

 private:
  void begin(Task task, std::uint64_t call);
  void note(std::uint64_t call);
  void close_block();

  LearnSettings settings_;
  std::unique_ptr<Policy> policy_;
  bool is_aligned_;
  bool is_due_ = false;
  Task task_;
  std::size_t position_ = 0;  // in the task
  int looks_ = 0;             // at the position
  // This rank's: the least time of the looks of a block, and the blocks' so far.
  double block_s_ = unknown_s;
  std::vector<double> blocks_s_;
  std::uint64_t agreed_at_ = 0;  // call
  std::uint64_t agreements_ = 0;
  double measuring_overhead_s_ = 0, monitoring_overhead_s_ = 0;
  std::vector<std::uint64_t> measured_;
  std::vector<Event> events_;
};

// Times as numbers of which the least can be agreed on, and of which all MPIs find the least.
std::uint64_t time_number(double seconds, bool is_longest);
double time_of(std::uint64_t number, bool is_longest);

}  // namespace unisono::tuning
