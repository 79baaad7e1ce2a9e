// SPDX-License-Identifier: BSD-3-Clause
// Which of a rank's steps under way must wait for which.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "model/live_steps.h"
#include "schedule/dependencies.h"

namespace unisono::model {

using schedule::ElementRange;
using schedule::Place;
using schedule::Stage;
using schedule::StepKind;
using schedule::Wait;

namespace {

bool is_await(StepKind kind) {
  return kind == StepKind::await || kind == StepKind::await_all || kind == StepKind::node_barrier;
}
bool is_publishing(StepKind kind) {
  return kind == StepKind::signal || kind == StepKind::node_barrier;
}

// Nothing after a gate begins before it is done; a point begins when all before it is.
bool is_awaited_token(const LiveStep& step) {
  return step.is_token && step.kind == StepKind::recv;
}
bool is_gate(const LiveStep& step) {
  return is_awaited_token(step) || step.kind == StepKind::node_barrier;
}
bool is_point(const LiveStep& step) {
  return (step.is_token && step.kind == StepKind::send) || is_fused(step.kind);
}

bool does_conflict(const Touch& a, const Touch& b) {
  if (a.place != b.place || !(a.is_write || b.is_write)) return false;
  if (a.range.first >= b.range.last || b.range.first >= a.range.last) return false;
  if (a.range != b.range) return true;
  // The same range, but of each piece other parts.
  const auto before = [](const Touch& x, const Touch& y) {
    return static_cast<std::int64_t>(x.sub_last) * y.sub_parts <=
           static_cast<std::int64_t>(y.sub_first) * x.sub_parts;
  };
  return !before(a, b) && !before(b, a);
}

// Do both write in one slot, to different blocks of it?
bool stands_apart(const LiveStep& a, const LiveStep& b) {
  return a.is_in_run && b.is_in_run &&
         (a.data.range.first >= b.data.range.last || b.data.range.first >= a.data.range.last);
}

}  // namespace

void LiveSteps::wait_done(LiveStep& step, const LiveStep& other, std::int32_t number) const {
  step.waits_for.push_back({number, step.stage == other.stage ? Wait::pieces : Wait::all});
}

void Hull::add(const ElementRange& touched) {
  if (touches++ == 0) {
    range = touched;
    return;
  }
  range.first = std::min(range.first, touched.first);
  range.last = std::max(range.last, touched.last);
}

// Those that may be in another step's way (bits, as in find_waits).
unsigned LiveSteps::touches_that_meet(const LiveStep& step) const {
  static_assert(schedule::is_private(static_cast<Place>(private_places - 1)) &&
                !schedule::is_private(static_cast<Place>(private_places)));
  unsigned meeting = 0;
  for (int i = 0; i < step.touches; ++i) {
    const Touch& own = step.touched[i];
    const auto& [read, written] = hulls_[static_cast<std::size_t>(own.place)];
    const bool is_met = written.is_met_by(own.range) || (own.is_write && read.is_met_by(own.range));
    meeting |= static_cast<unsigned>(is_met) << i;
  }
  return meeting;
}

void LiveSteps::find_waits(std::int32_t number) {
  LiveStep& step = at(number);
  const Stage& stage = stage_of(step);
  if (step.kind == StepKind::expose) asked_.is_exposed = has_exposed_ = true;
  has_gates_ = has_gates_ || is_gate(step);
  has_fused_ = has_fused_ || is_fused(step.kind);
  bool has_points = is_point(step) || has_fused_ || (has_gates_ && !is_awaited_token(step));
  const bool has_order =
      has_exposed_ || stage.begins_apart || (stage.rounds_under_way > 0 && is_message(step.kind));
  unsigned open = touches_that_meet(step);
  for (int i = 0; i < step.touches; ++i) hull_of(step.touched[i]).add(step.touched[i].range);
  for (std::int32_t i = number - 1; i >= first_ && (open != 0 || has_order || has_points); --i) {
    const LiveStep& other = at(i);
    if (other.is_done()) continue;
    if (open != 0) wait_for_conflicts(step, other, i, &open);
    if (has_points) {
      keep_points(step, other, i);
      // That waits for all before it itself.
      has_points = !(is_point(step) && is_point(other));
    }
    if (!has_order) continue;
    keep_order(step, other, i);
    guard_exposed(step, other, i);
  }
  if (is_message(step.kind) && stage.is_blocking) block(step, number);
  if (step.kind == StepKind::send && stage.sends_under_way > 0) pace(step, number);
  if (asked_.is_exposed && is_await(step.kind)) {
    if (asked_.last_exposed_await >= first_) at(asked_.last_exposed_await).is_ending_exposure = false;
    step.is_ending_exposure = true;
    asked_.last_exposed_await = number;
  }
  if (step.is_node_step) order_node_step(number);
  link(number);
}

// One message after the other, piece by piece in a round.
void LiveSteps::block(LiveStep& step, std::int32_t number) {
  const bool is_next_round = asked_.blocking_round != step.round;
  if (asked_.last_blocking >= 0 && is_live(asked_.last_blocking)) {
    if (is_next_round) {
      step.waits_for.push_back({asked_.last_blocking, Wait::all});
    } else {
      wait_done(step, at(asked_.last_blocking), asked_.last_blocking);
    }
  }
  if (is_next_round) {
    end_blocking_round();
    asked_.first_blocking = number;
  }
  asked_.blocking_round = step.round;
  asked_.last_blocking = number;
}

void LiveSteps::end_blocking_round() {
  follow(asked_.first_blocking, asked_.last_blocking);
  asked_.first_blocking = asked_.last_blocking = asked_.blocking_round = -1;
}

// Only so many sends are under way at a time.
void LiveSteps::pace(LiveStep& step, std::int32_t number) {
  asked_.last_sends.resize(static_cast<std::size_t>(stage_of(step).sends_under_way));
  std::int32_t& place = asked_.last_sends[asked_.sends++ % asked_.last_sends.size()];
  const bool is_room_left = asked_.sends <= asked_.last_sends.size();
  if (!is_room_left && is_live(place)) wait_done(step, at(place), place);
  place = number;
}

// The next piece of one waits for the last one's of the other.
void LiveSteps::follow(std::int32_t first, std::int32_t last) {
  if (uses_[stage_].pieces == 1 || first < 0 || first == last || !is_live(first)) return;
  at(first).waits_for.push_back({last, Wait::previous});
  at(last).waited_by.push_back(first);
}

void LiveSteps::link(std::int32_t number) {
  LiveStep& step = at(number);
  for (const schedule::Predecessor& wait : step.waits_for) {
    auto& list = at(wait.step).waited_by;
    if (list.empty() || list.back() != number) list.push_back(number);
  }
}

// From the newest step back: who waits for a write of just what it touches itself need not look further, for
// that waits for what is older. `open`: the touches that still look.
void LiveSteps::wait_for_conflicts(LiveStep& step, const LiveStep& other, std::int32_t number,
                                   unsigned* open) const {
  bool is_waiting = false, is_equal = true;
  for (int a = 0; a < step.touches; ++a) {
    if ((*open >> a & 1) == 0) continue;
    const Touch& own = step.touched[a];
    for (int b = 0; b < other.touches; ++b) {
      const Touch& theirs = other.touched[b];
      if (!does_conflict(own, theirs)) continue;
      const bool is_same = own.range == theirs.range;
      is_waiting = true;
      is_equal = is_equal && is_same;
      if (theirs.is_write && is_same && theirs.sub_last - theirs.sub_first == theirs.sub_parts) {
        *open &= ~(1u << a);
      }
    }
  }
  if (is_waiting) step.waits_for.push_back({number, is_equal ? Wait::pieces : Wait::all});
}

// rounds_under_way, begins_apart.
void LiveSteps::keep_order(LiveStep& step, const LiveStep& other, std::int32_t number) {
  const Stage& stage = stage_of(step);
  if (stage.begins_apart && other.stage != step.stage) step.waits_for.push_back({number, Wait::all});
  if (stage.rounds_under_way > 0 && is_message(step.kind) && is_message(other.kind) &&
      other.stage == step.stage && other.round <= step.round - stage.rounds_under_way) {
    wait_done(step, other, number);
  }
}

// Tokens and fused steps mean their place in the program.
void LiveSteps::keep_points(LiveStep& step, const LiveStep& other, std::int32_t number) {
  if (is_gate(other) && !is_awaited_token(step)) {
    wait_done(step, other, number);
  } else if (is_point(step) && other.is_token && other.kind == StepKind::send) {
    const bool is_same = step.stage == other.stage;
    step.waits_for.push_back({number, is_same ? Wait::started_pieces : Wait::started_all});
  } else if (is_point(step) || is_fused(other.kind)) {
    wait_done(step, other, number);
  }
}

void LiveSteps::guard_exposed(LiveStep& step, const LiveStep& other, std::int32_t number) {
  const auto writes_exposed = [](const LiveStep& s) {
    for (int i = 0; i < s.touches; ++i) {
      if (s.touched[i].is_write && s.touched[i].place != Place::scratch) return true;
    }
    return false;
  };
  if (other.is_ending_exposure && writes_exposed(step)) wait_done(step, other, number);
  if (asked_.is_exposed && is_publishing(step.kind) && writes_exposed(other)) wait_done(step, other, number);
}

// Node steps of a stage run in the order written. A message among them only has to start in its place, and to
// be done before the next signal.
void LiveSteps::order_node_step(std::int32_t number) {
  LiveStep& step = at(number);
  if (asked_.last_node >= 0 && is_live(asked_.last_node)) {
    const LiveStep& last = at(asked_.last_node);
    if (is_message(last.kind)) {
      const bool is_same = last.stage == step.stage;
      step.waits_for.push_back({asked_.last_node, is_same ? Wait::started_pieces : Wait::started_all});
    } else {
      wait_done(step, last, asked_.last_node);
    }
  }
  if (has_node_messages_ && (is_publishing(step.kind) || is_fused(step.kind) || step.is_shared_write)) {
    for (std::int32_t i = first_; i < number; ++i) {
      const LiveStep& other = at(i);
      if (other.is_done() || !other.is_node_step || !is_message(other.kind)) continue;
      if (!stands_apart(step, other)) wait_done(step, other, i);
    }
  }
  has_node_messages_ = has_node_messages_ || is_message(step.kind);
  if (asked_.first_node < 0) asked_.first_node = number;
  asked_.last_node = number;
  if (uses_[static_cast<std::size_t>(step.stage)].channel >= 0) asked_.last_on_channel = number;
}

// The flag stands at the piece's last tick in the end, and a piece's node steps, or blocking messages, come
// before those of the next.
void LiveSteps::end_stage() {
  const StageUse& use = uses_[stage_];
  if (use.channel >= 0 && asked_.first_node >= 0) {
    const LiveStep& last = at(asked_.last_node);
    if (last.kind != StepKind::signal || last.tick != use.ticks) {
      add({.kind = StepKind::signal, .tick = use.ticks}, static_cast<int>(stage_), round_);
    }
  }
  end_blocking_round();
  follow(asked_.first_node, asked_.first_node >= 0 ? asked_.last_node : -1);
}

}  // namespace unisono::model
