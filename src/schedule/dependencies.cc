// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/dependencies.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/touched.h"

namespace unisono::schedule {

Operands operands(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      return {.reads = {&step.left, nullptr}, .write = nullptr};
    case StepKind::recv:
    case StepKind::node_bcast:
      return {.reads = {nullptr, nullptr}, .write = &step.into};
    case StepKind::copy:
    case StepKind::node_reduce:
    case StepKind::node_allreduce:
    case StepKind::node_scan:
    case StepKind::node_exscan:
    case StepKind::node_reduce_scatter:
    case StepKind::node_allgather:
    case StepKind::node_gather:
    case StepKind::node_scatter:
    case StepKind::node_alltoall:
      return {.reads = {&step.left, nullptr}, .write = &step.into};
    case StepKind::reduce:
      return {.reads = {&step.left, &step.right}, .write = &step.into};
    case StepKind::signal:
    case StepKind::await:
    case StepKind::await_all:
    case StepKind::await_space:
    case StepKind::expose:
    case StepKind::node_barrier:
      break;
  }
  return {};
}

namespace {

constexpr bool is_await(StepKind kind) {
  return kind == StepKind::await || kind == StepKind::await_all || kind == StepKind::node_barrier;
}
constexpr bool is_publishing(StepKind kind) {
  return kind == StepKind::signal || kind == StepKind::node_barrier;
}

// The waits of one step while they are collected: for each other step a set of ways.
class Collected {
 public:
  explicit Collected(std::size_t steps) : ways_(steps, 0) {}

  void add(int step, Wait how) {
    if (ways_[step] == 0) steps_.push_back(step);
    ways_[step] |= bit(how);
  }
  bool has(int step) const { return ways_[step] != 0; }

  // Is the wait for a step implied by the knowledge that it is done, in all pieces or as far as needed?
  void drop_implied(int step, bool is_all_done) {
    if (ways_[step] == 0) return;
    unsigned implied = bit(Wait::pieces) | bit(Wait::previous) | bit(Wait::started_pieces);
    if (is_all_done) implied |= bit(Wait::all) | bit(Wait::started_all);
    ways_[step] &= ~implied;
    ways_[step] |= dropped;
  }

  // Appends what is left, weaker ways dropped, and empties the collection.
  void take(std::vector<Predecessor>* taken) {
    std::sort(steps_.begin(), steps_.end());
    for (const int step : steps_) {
      unsigned ways = ways_[step] & ~dropped;
      if (ways & bit(Wait::all)) ways = bit(Wait::all);
      if (ways & bit(Wait::pieces)) ways &= ~(bit(Wait::previous) | bit(Wait::started_pieces));
      if (ways & bit(Wait::started_all)) ways &= ~bit(Wait::started_pieces);
      for (unsigned how = 0; how < 5; ++how) {
        if (ways & (1u << how)) taken->push_back({step, static_cast<Wait>(how)});
      }
      ways_[step] = 0;
    }
    steps_.clear();
  }

 private:
  static constexpr unsigned dropped = 1u << 5;
  static constexpr unsigned bit(Wait how) { return 1u << static_cast<unsigned>(how); }
  std::vector<unsigned> ways_;
  std::vector<int> steps_;
};

class Finder {
 public:
  explicit Finder(const std::vector<FlatStep>& steps)
      : steps_(steps), touched_(steps), collected_(steps.size()), first_direct_{0} {}

  std::vector<std::vector<Predecessor>> find() {
    std::vector<std::vector<Predecessor>> found(steps_.size());
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
      if (i == 0 || steps_[i].stage != steps_[i - 1].stage) begin_stage(i);
      touched_.visit(i, steps_[i], [this](int other, Wait how) { collected_.add(other, how); });
      order_messages(i);
      hold_back(i);
      pace(i);
      block(i, &found);
      if (steps_[i].begins_apart) stand_apart();
      order_points(i);
      guard_exposed(i);
      if (steps_[i].is_node_step) order_node_step(i);
      reduce(i, &found[i]);
      const bool is_last = i + 1 == static_cast<int>(steps_.size());
      if (is_last || steps_[i + 1].stage != steps_[i].stage) end_stage(&found);
    }
    return found;
  }

 private:
  struct Point {
    int step;
    bool is_start_enough;
  };
  // A stage in which this rank has exposed its buffers to others.
  struct Exposing {
    int stage;
    std::size_t published;  // output_writers_ up to here are waited for by a signal
    int last_await;
  };
  struct Round {
    int round;
    std::vector<int> messages;
  };
  struct SharedAccess {
    int step;
    const Ref* ref;
    bool is_write;
  };

  bool is_same_stage(int a, int b) const { return steps_[a].stage == steps_[b].stage; }
  void wait_done(int step, int other) {
    collected_.add(other, is_same_stage(step, other) ? Wait::pieces : Wait::all);
  }
  void wait_started(int step, int other) {
    collected_.add(other, is_same_stage(step, other) ? Wait::started_pieces : Wait::started_all);
  }

  // Messages of one pair and number match in the order in which they start.
  void order_messages(int i) {
    const FlatStep& step = steps_[i];
    if (!is_message(step.step.kind)) return;
    const auto key = std::make_tuple(step.step.peer, step.step.kind, step.tag);
    const auto [known, is_new] = last_of_key_.try_emplace(key, i);
    if (is_new) return;
    collected_.add(known->second, Wait::started_all);
    known->second = i;
  }

  // Only so many rounds' messages are under way at a time.
  void hold_back(int i) {
    const FlatStep& step = steps_[i];
    if (!is_message(step.step.kind) || step.rounds_under_way == 0) return;
    if (rounds_.empty() || rounds_.back().round != step.round) rounds_.push_back({step.round, {}});
    rounds_.back().messages.push_back(i);
    auto earlier = rounds_.rbegin();
    while (earlier != rounds_.rend() && earlier->round > step.round - step.rounds_under_way) ++earlier;
    if (earlier == rounds_.rend()) return;
    for (const int message : earlier->messages) wait_done(i, message);
  }

  // Only so many sends are under way at a time; a flood of them may slow the MPI down. A14, section 4.5.4.
  void pace(int i) {
    const FlatStep& step = steps_[i];
    if (step.step.kind != StepKind::send || step.sends_under_way == 0) return;
    sends_.push_back(i);
    const auto under_way = static_cast<std::size_t>(step.sends_under_way);
    if (sends_.size() > under_way) wait_done(i, sends_[sends_.size() - 1 - under_way]);
  }

  // One message after the other, and the first one's next piece after the last one's; round after round.
  void block(int i, std::vector<std::vector<Predecessor>>* found) {
    if (!is_message(steps_[i].step.kind) || !steps_[i].is_blocking) return;
    if (last_blocking_ >= 0 && steps_[last_blocking_].round != steps_[i].round) {
      collected_.add(last_blocking_, Wait::all);
      end_blocking_round(found);
    } else if (last_blocking_ >= 0) {
      wait_done(i, last_blocking_);
    }
    if (first_blocking_ < 0) first_blocking_ = i;
    last_blocking_ = i;
  }
  void end_blocking_round(std::vector<std::vector<Predecessor>>* found) {
    if (first_blocking_ >= 0) (*found)[first_blocking_].push_back({last_blocking_, Wait::previous});
    first_blocking_ = last_blocking_ = -1;
  }

  // Waits for what no other step of earlier stages waits for.
  void stand_apart() {
    for (const int end : ends_) collected_.add(end, Wait::all);
  }
  void find_ends(int first_of_stage) {
    std::vector<bool> is_awaited(static_cast<std::size_t>(first_of_stage), false);
    for (int step = 0; step < first_of_stage; ++step) {
      for (std::size_t wait = first_direct_[step]; wait < first_direct_[step + 1]; ++wait) {
        const Wait how = direct_[wait].how;
        if (how == Wait::pieces || how == Wait::all) is_awaited[direct_[wait].step] = true;
      }
    }
    ends_.clear();
    for (int step = 0; step < first_of_stage; ++step) {
      if (!is_awaited[step]) ends_.push_back(step);
    }
  }

  // Tokens and fused steps mean their place in the program. A token is sent, or a fused step begins, when all
  // that is written before it is done, but for tokens being sent. What is written after waits for a token to
  // arrive and for a barrier.
  void order_points(int i) {
    const FlatStep& step = steps_[i];
    const bool is_sent_token = step.is_token && step.step.kind == StepKind::send;
    const bool is_awaited_token = step.is_token && step.step.kind == StepKind::recv;
    if (!is_awaited_token) {
      for (const Point& gate : gates_) wait_for(i, gate);
      constexpr std::size_t most_gates = 4;
      if (gates_.size() >= most_gates) gates_.assign(1, {i, true});
    }
    if (is_sent_token || is_fused(step.step.kind)) {
      for (const Point& point : open_) wait_for(i, point);
      open_.assign(1, {i, is_sent_token});
    } else {
      open_.push_back({i, false});
    }
    if (is_awaited_token || step.step.kind == StepKind::node_barrier) gates_.push_back({i, false});
  }
  void wait_for(int i, const Point& point) {
    if (point.is_start_enough) {
      wait_started(i, point.step);
    } else {
      wait_done(i, point.step);
    }
  }

  // What others may read after a signal must have been written before it; what they may read until an await
  // must not be written before that.
  void guard_exposed(int i) {
    const FlatStep& step = steps_[i];
    const Operands named = operands(step.step);
    if (named.write != nullptr && !step.is_token && named.write->place != Place::scratch &&
        is_private(named.write->place)) {
      for (const Exposing& exposing : exposing_) {
        if (exposing.last_await >= 0) wait_done(i, exposing.last_await);
      }
      output_writers_.push_back(i);
    }
    if (step.step.kind == StepKind::expose && !is_exposed_) {
      is_exposed_ = true;
      exposing_.push_back({step.stage, 0, -1});
    }
    if (!is_exposed_) return;
    Exposing& own = exposing_.back();
    if (is_publishing(step.step.kind)) {
      for (; own.published < output_writers_.size(); ++own.published) {
        wait_done(i, output_writers_[own.published]);
      }
    }
    if (is_await(step.step.kind)) own.last_await = i;
  }

  // One after the other. A message holds up only signals, and what touches the same shared memory.
  void order_node_step(int i) {
    const FlatStep& step = steps_[i];
    if (last_node_ >= 0) {
      if (is_message(steps_[last_node_].step.kind)) {
        wait_started(i, last_node_);
      } else {
        wait_done(i, last_node_);
      }
    }
    if (first_node_ < 0) first_node_ = i;
    last_node_ = i;
    if (step.has_channel) last_on_channel_ = i;
    if (is_publishing(step.step.kind) || is_fused(step.step.kind)) {
      for (const SharedAccess& message : shared_messages_) wait_done(i, message.step);
      shared_messages_.clear();
    }
    const Operands named = operands(step.step);
    const std::size_t earlier = shared_messages_.size();
    for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
      if (ref == nullptr || ref->place != Place::shared) continue;
      const bool is_write = ref == named.write;
      for (std::size_t m = 0; m < earlier; ++m) {
        const SharedAccess& message = shared_messages_[m];
        if ((is_write || message.is_write) && does_overlap(*ref, *message.ref)) wait_done(i, message.step);
      }
      if (is_message(step.step.kind)) shared_messages_.push_back({i, ref, is_write});
    }
  }
  static bool does_overlap(const Ref& a, const Ref& b) {
    if (a.owner != b.owner || a.lane != b.lane) return false;
    if (a.lane_first >= 0 && a.lane_first == b.lane_first) return a.first < b.last && b.first < a.last;
    if (a.first != b.first || a.last != b.last || a.parts != b.parts || a.sub_parts != b.sub_parts) {
      return true;
    }
    return a.sub_first < b.sub_last && b.sub_first < a.sub_last;
  }

  void begin_stage(int first) {
    if (steps_[first].begins_apart) find_ends(first);
    first_blocking_ = last_blocking_ = -1;
    first_node_ = -1;
    if (steps_[first].continues_channel) {
      last_node_ = last_on_channel_;
    } else {
      last_node_ = -1;
      if (steps_[first].has_channel) shared_messages_.clear();
    }
    rounds_.clear();
    sends_.clear();
    is_exposed_ = false;
  }
  // All node steps, and blocking messages, of a piece come before those of the next.
  void end_stage(std::vector<std::vector<Predecessor>>* found) {
    end_blocking_round(found);
    if (first_node_ < 0) return;
    if (first_node_ == last_node_ && !is_message(steps_[first_node_].step.kind)) return;
    (*found)[first_node_].push_back({last_node_, Wait::previous});
  }

  // Drops the waits that a wait for a third step implies.
  void reduce(int i, std::vector<Predecessor>* found) {
    collected_.take(&direct_);
    const std::size_t first = first_direct_[i];
    first_direct_.push_back(direct_.size());
    for (std::size_t wait = first; wait < direct_.size(); ++wait) {
      collected_.add(direct_[wait].step, direct_[wait].how);
    }
    for (std::size_t wait = first; wait < direct_.size(); ++wait) {
      const Predecessor& through = direct_[wait];
      if (through.how == Wait::previous) continue;
      const bool is_whole = through.how == Wait::all || through.how == Wait::started_all;
      for (std::size_t past = first_direct_[through.step]; past < first_direct_[through.step + 1]; ++past) {
        const Predecessor& further = direct_[past];
        if (!is_start(further.how) && further.how != Wait::previous) {
          collected_.drop_implied(further.step, is_whole || further.how == Wait::all);
        }
      }
    }
    collected_.take(found);
  }

  const std::vector<FlatStep>& steps_;
  Touched touched_;
  Collected collected_;
  std::vector<Predecessor> direct_;        // of all steps, before any is dropped
  std::vector<std::size_t> first_direct_;  // step -> its first in direct_
  std::map<std::tuple<int, StepKind, int>, int> last_of_key_;
  std::vector<Point> open_, gates_;
  std::vector<Round> rounds_;  // of the stage, those with messages
  std::vector<int> sends_;     // of the stage, where they are paced
  std::vector<int> output_writers_;
  std::vector<Exposing> exposing_;
  bool is_exposed_ = false;
  int first_node_ = -1, last_node_ = -1;
  int last_on_channel_ = -1;
  int first_blocking_ = -1, last_blocking_ = -1;
  std::vector<int> ends_;  // of a stage that begins apart: what ended last before it
  std::vector<SharedAccess> shared_messages_;
};

}  // namespace

std::vector<std::vector<Predecessor>> find_predecessors(const std::vector<FlatStep>& steps) {
  return Finder(steps).find();
}

}  // namespace unisono::schedule
