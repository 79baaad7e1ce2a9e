// SPDX-License-Identifier: BSD-3-Clause
// Records what a call in virtual time does on which core and what that waits for, so that it can be replayed
// (virtual_replay.h) call after call with other noise. Each time is the latest of some others, plus what the
// work takes: a max-plus program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unisono::model {

// A point of time: so long after the end of one piece of work. -1: none.
struct TimeRef {
  std::int32_t work = -1;
  double after_us = 0;
};

struct Recording {
  // Work on a core, which goes on from where that core's last work ended; or, without a core, the later of
  // two points of time.
  struct Item {
    std::int32_t core = -1;
    TimeRef after;  // not before; of a core's work may be none
    TimeRef other;  // without a core: the other one
    double us = 0;
  };
  std::vector<Item> items;    // in the order in which they were run
  std::vector<TimeRef> ends;  // by index: when the rank is done
  std::string problem;        // why a replay would not do what the events do; else empty
};

// Steps are named by the rank's index and their number, as LiveSteps has them.
class Recorder {
 public:
  explicit Recorder(int ranks);

  void begin(int index, double us);
  // Steps [first, end) are asked for because `cause` is done; -1: from the begin on.
  void load(int index, std::int32_t cause, std::int32_t first, std::int32_t end);
  // A step may start: after what it was loaded by, and `waits` of it.
  void start(int index, std::int32_t step);
  void wait_for(int index, std::int32_t step, std::int32_t other, bool is_start);
  void wait_for(int index, std::int32_t step, const TimeRef& time);
  // Work of a step on its core; what follows on that core waits for it.
  TimeRef work(int index, std::int32_t step, double us);
  // Beside all steps, at the begin of a call.
  void work(int index, double us);
  void finish(int index, std::int32_t step, const TimeRef& time);
  // With what it has waited for alone.
  void finish(int index, std::int32_t step) { finish(index, step, step_of(index, step).start); }

  TimeRef finished(int index, std::int32_t step) { return step_of(index, step).finish; }

  // What a rank of a node has written: a flag, or its part of a fused operation.
  void raise(int node, std::int32_t channel, int local_rank, std::int64_t tick, const TimeRef& time);
  TimeRef raised(int node, std::int32_t channel, int local_rank, std::int64_t tick) const;
  void enter_fused(int node, std::int32_t operation, int local_rank, const TimeRef& time);
  TimeRef entered(int node, std::int32_t operation, int local_rank) const;

  void refuse(const std::string& problem) {
    if (recording_.problem.empty()) recording_.problem = problem;
  }
  Recording take() { return std::move(recording_); }

 private:
  struct StepTimes {
    TimeRef start, finish;
  };
  struct RankTimes {
    TimeRef core;    // its last work
    TimeRef loaded;  // what steps were loaded by so far
    std::vector<StepTimes> steps;
  };
  struct Raised {
    std::int64_t tick;
    TimeRef time;
  };
  StepTimes& step_of(int index, std::int32_t step) {
    return ranks_[static_cast<std::size_t>(index)].steps[static_cast<std::size_t>(step)];
  }
  TimeRef later(const TimeRef& a, const TimeRef& b);
  bool is_covered(const TimeRef& a, const TimeRef& by) const;
  TimeRef add(const Recording::Item& item);

  Recording recording_;
  std::vector<RankTimes> ranks_;
  std::vector<double> done_us_;  // by item: of its core's work up to its end
  std::map<std::pair<std::int64_t, int>, std::vector<Raised>> flags_;  // (node, channel), local rank
  std::map<std::pair<std::int64_t, int>, TimeRef> fused_;              // (node, operation), local rank
};

}  // namespace unisono::model
