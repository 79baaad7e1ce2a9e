// SPDX-License-Identifier: BSD-3-Clause
#include "model/live_steps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/dependencies.h"
#include "schedule/executor.h"

namespace unisono::model {

using schedule::ElementRange;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;
using schedule::Wait;

namespace {

constexpr std::int64_t least_area_bytes = 16 * 1024;  // of a rank, as the runtime has it
constexpr std::uint32_t least_ring = 4;

bool is_await(StepKind kind) {
  return kind == StepKind::await || kind == StepKind::await_all || kind == StepKind::node_barrier;
}
bool is_publishing(StepKind kind) {
  return kind == StepKind::signal || kind == StepKind::node_barrier;
}
bool is_remote(Place place) {
  return place == Place::remote_input || place == Place::remote_output;
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

std::int64_t lane_bytes(const Stage& stage, std::int64_t channel_bytes, int local_size) {
  const std::int64_t area = std::max(least_area_bytes, channel_bytes / std::max(1, local_size));
  const std::int64_t areas = stage.shared == SharedMode::common ? local_size : 1;
  return std::max<std::int64_t>(1, areas * area / std::max(1, stage.buffers) / std::max(1, stage.lanes));
}

}  // namespace

std::int64_t LiveStep::elements_of(std::int64_t piece) const {
  ElementRange range = data.range;
  if (pieces > 1) range = schedule::cut(range, piece, piece + 1, pieces);
  if (data.sub_last - data.sub_first == data.sub_parts) return range.length();
  return schedule::cut(range, data.sub_first, data.sub_last, data.sub_parts).length();
}

LiveSteps::LiveSteps(const Problem& problem, Program program, const CallSize& size, int local_size,
                     int most_waiting, const std::function<int(int)>* index_of)
    : LiveSteps(problem, size, local_size) {
  index_of_ = index_of;
  program_ = std::move(program);
  most_waiting_ = most_waiting;
  plan(program_.stages);
}

void LiveSteps::plan(const std::vector<Stage>& stages) {
  std::vector<std::int64_t> next_piece;  // of each channel
  for (const Stage& stage : stages) {
    StageUse& use = uses_.emplace_back();
    const bool has_channel = stage.shared != SharedMode::none;
    const std::int64_t lane = has_channel ? lane_bytes(stage, size_.channel_bytes, local_size_) : 0;
    use.pieces = piece_count(stage, lane);
    use.window = std::clamp(stage.window, 1, 64);
    use.ticks = stage.ticks;
    use.buffers = std::max(1, stage.buffers);
    if (!has_channel) continue;
    if (!stage.continues_channel || next_piece.empty()) next_piece.push_back(0);
    use.channel = static_cast<int>(next_piece.size()) - 1;
    use.base_piece = next_piece.back();
    next_piece.back() += use.pieces;
    use.has_node_steps = has_node_steps(stage);
  }
  channels_ = static_cast<int>(next_piece.size());
}

// A segment, or a lane, holds the more elements the less of each is moved.
std::int32_t LiveSteps::piece_count(const Stage& stage, std::int64_t lane) const {
  const auto element_bytes = static_cast<std::size_t>(size_.element_bytes);
  if (size_.share >= 1) {
    return static_cast<std::int32_t>(
        schedule::piece_count(stage, units_, element_bytes, static_cast<std::size_t>(lane)));
  }
  const auto enlarged = [&](auto bytes) {
    constexpr double most = 1e18;
    return static_cast<std::size_t>(std::min(most, static_cast<double>(bytes) / size_.share));
  };
  Stage larger = stage;
  larger.segment_bytes = static_cast<decltype(larger.segment_bytes)>(enlarged(stage.segment_bytes));
  return static_cast<std::int32_t>(schedule::piece_count(larger, units_, element_bytes, enlarged(lane)));
}

bool LiveSteps::has_node_steps(const Stage& stage) const {
  std::vector<Step> steps;
  schedule::Writer writer(&steps);
  for (int round = 0; round < stage.rounds && steps.empty() && stage.write; ++round) {
    stage.write(round, writer);
  }
  return !steps.empty();
}

std::int32_t LiveSteps::load() {
  const std::int32_t begin = next_;
  while (!is_exhausted_ && waiting_ < most_waiting()) {
    while (stage_ < program_.stages.size() && round_ >= program_.stages[stage_].rounds) {
      ++stage_;
      round_ = 0;
    }
    if (stage_ == program_.stages.size()) {
      is_exhausted_ = true;
      program_ = {};
      break;
    }
    const bool is_at_call =
        stages_of_call_ > 0 && round_ == 0 && stage_ % static_cast<std::size_t>(stages_of_call_) == 0;
    if (is_at_call && waiting_ > 0) break;
    load_stage();
  }
  return begin;
}

// Enough for all rounds whose messages the stage keeps under way.
int LiveSteps::most_waiting() const {
  if (stage_ >= program_.stages.size()) return most_waiting_;
  constexpr int steps_per_round = 3;
  return std::max(most_waiting_, steps_per_round * program_.stages[stage_].rounds_under_way);
}

// What runs piece by piece through all its rounds is taken as a whole, all else a round at a time.
void LiveSteps::load_stage() {
  const Stage& stage = program_.stages[stage_];
  if (round_ == 0) {
    first_of_stage_ = next_;
    first_blocking_ = last_blocking_ = first_node_ = -1;
    if (!stage.continues_channel) last_on_channel_ = -1;
    last_node_ = last_on_channel_;
    last_exposed_await_ = -1;
    is_exposed_ = false;
  }
  const bool is_whole = stage.shared != SharedMode::none || (stage.is_blocking && uses_[stage_].pieces > 1);
  do {
    load_round();
  } while (is_whole && round_ < stage.rounds);
  if (round_ == stage.rounds) end_stage();
}

// Messages of a round, from `first` on: each among those of its pair.
void LiveSteps::number_messages(std::int32_t first) {
  using Numbered = std::tuple<StepKind, int, std::int32_t>;
  static thread_local std::vector<Numbered> messages;
  messages.clear();
  for (std::int32_t number = first; number < next_; ++number) {
    const LiveStep& step = at(number);
    if (!is_message(step.kind)) continue;
    messages.emplace_back(step.kind, index_of_ != nullptr ? (*index_of_)(step.peer) : step.peer, number);
  }
  std::sort(messages.begin(), messages.end());
  for (std::size_t i = 1; i < messages.size(); ++i) {
    const auto& [kind, peer, number] = messages[i];
    const auto& [kind_before, peer_before, before] = messages[i - 1];
    if (kind == kind_before && peer == peer_before) at(number).ordinal = at(before).ordinal + 1;
  }
}

void LiveSteps::load_round() {
  static thread_local std::vector<Step> written;
  written.clear();
  schedule::Writer writer(&written);
  program_.stages[stage_].write(round_, writer);
  const std::int32_t first = next_;
  for (const Step& step : written) add(step, static_cast<int>(stage_), round_);
  number_messages(first);
  ++round_;
}

void LiveSteps::add(const Step& step, int stage, int round) {
  if (step.kind == StepKind::copy || step.kind == StepKind::reduce) {
    if (step.into.first == step.into.last || schedule::is_needless_copy(problem_, step)) return;
  }
  LiveStep& live = append();
  live.stage = stage;
  live.round = round;
  live.pieces = uses_[static_cast<std::size_t>(stage)].pieces;
  fill(step, &live);
  find_waits(next_ - 1);
}

LiveStep& LiveSteps::append() {
  const auto held = static_cast<std::uint32_t>(next_ - first_);
  if (held == ring_.size()) {
    std::vector<LiveStep> larger(std::max(least_ring, 2 * held));
    const auto mask = static_cast<std::uint32_t>(larger.size()) - 1;
    for (std::int32_t i = first_; i < next_; ++i) {
      larger[static_cast<std::uint32_t>(i) & mask] = std::move(at(i));
    }
    ring_ = std::move(larger);
    mask_ = mask;
  }
  LiveStep& live = at(next_++);
  auto waits = std::move(live.waits_for);
  auto waited = std::move(live.waited_by);
  waits.clear();
  waited.clear();
  live = LiveStep();
  live.waits_for = std::move(waits);
  live.waited_by = std::move(waited);
  ++waiting_;
  return live;
}

void LiveSteps::fill(const Step& step, LiveStep* live) const {
  live->kind = step.kind;
  live->peer = step.peer;
  live->tick = step.tick;
  live->is_node_step = schedule::is_flag_step(step.kind) || is_fused(step.kind);
  if (is_message(step.kind)) {
    const Ref& data = step.kind == StepKind::send ? step.left : step.into;
    live->is_token = schedule::is_token(problem_.operation, data);
    if (live->is_token) live->is_node_step = false;
    // A broadcast's root sends what the program has written.
    const bool is_given = problem_.operation == Operation::bcast && problem_.rank == problem_.root;
    live->is_fresh = step.kind == StepKind::send && data.place != Place::input && !is_given;
  }
  const auto touch = [this](const Ref& ref, bool is_write) {
    return Touch{ref.place,     is_write,     schedule::element_range(ref, units_),
                 ref.sub_first, ref.sub_last, ref.sub_parts};
  };
  const schedule::Operands named = schedule::operands(step);
  if (live->is_token) return;
  for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
    if (ref == nullptr) continue;
    const bool is_write = ref == named.write;
    const Touch all = touch(*ref, is_write);
    if (is_fused(step.kind) ? !is_write : true) live->data = all;
    if (schedule::is_private(ref->place)) {
      if (all.range.length() > 0) live->touched[live->touches++] = all;
      continue;
    }
    live->is_node_step = true;
    live->is_remote_read = live->is_remote_read || is_remote(ref->place);
    live->is_shared_write = live->is_shared_write || is_write;
    if (!is_write && ref->place == Place::shared) ++live->shared_reads;
  }
  if (is_fused(step.kind) && named.write != nullptr) {
    // Of blocks for all ranks that are written or read, one counts.
    const bool is_scattered = step.kind == StepKind::node_scatter;
    if (is_scattered || step.kind == StepKind::node_bcast) live->data = touch(*named.write, true);
  }
}

// --- Dependencies ---

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
  if (step.kind == StepKind::expose) is_exposed_ = has_exposed_ = true;
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
  if (is_message(step.kind) && stage.is_blocking) {
    if (first_blocking_ < 0) first_blocking_ = number;
    if (last_blocking_ >= 0 && is_live(last_blocking_)) wait_done(step, at(last_blocking_), last_blocking_);
    last_blocking_ = number;
  }
  if (is_exposed_ && is_await(step.kind)) {
    if (last_exposed_await_ >= first_) at(last_exposed_await_).is_ending_exposure = false;
    step.is_ending_exposure = true;
    last_exposed_await_ = number;
  }
  if (step.is_node_step) order_node_step(number);
  link(number);
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
  if (is_exposed_ && is_publishing(step.kind) && writes_exposed(other)) wait_done(step, other, number);
}

// Node steps of a stage run in the order written. A message among them only has to start in its place, and to
// be done before the next signal.
void LiveSteps::order_node_step(std::int32_t number) {
  LiveStep& step = at(number);
  if (last_node_ >= 0 && is_live(last_node_)) {
    const LiveStep& last = at(last_node_);
    if (is_message(last.kind)) {
      const bool is_same = last.stage == step.stage;
      step.waits_for.push_back({last_node_, is_same ? Wait::started_pieces : Wait::started_all});
    } else {
      wait_done(step, last, last_node_);
    }
  }
  if (has_node_messages_ && (is_publishing(step.kind) || is_fused(step.kind) || step.is_shared_write)) {
    for (std::int32_t i = first_; i < number; ++i) {
      const LiveStep& other = at(i);
      if (!other.is_done() && other.is_node_step && is_message(other.kind)) wait_done(step, other, i);
    }
  }
  has_node_messages_ = has_node_messages_ || is_message(step.kind);
  if (first_node_ < 0) first_node_ = number;
  last_node_ = number;
  if (uses_[static_cast<std::size_t>(step.stage)].channel >= 0) last_on_channel_ = number;
}

// The flag stands at the piece's last tick in the end, and a piece's node steps, or blocking messages, come
// before those of the next.
void LiveSteps::end_stage() {
  const StageUse& use = uses_[stage_];
  if (use.channel >= 0 && first_node_ >= 0) {
    const LiveStep& last = at(last_node_);
    if (last.kind != StepKind::signal || last.tick != use.ticks) {
      add({.kind = StepKind::signal, .tick = use.ticks}, static_cast<int>(stage_), round_);
    }
  }
  if (use.pieces == 1) return;
  const auto follow = [this](std::int32_t first, std::int32_t last) {
    if (first < 0 || first == last || !is_live(first)) return;
    at(first).waits_for.push_back({last, Wait::previous});
    at(last).waited_by.push_back(first);
  };
  follow(first_blocking_, last_blocking_);
  follow(first_node_, first_node_ >= 0 ? last_node_ : -1);
}

bool LiveSteps::may_start(const LiveStep& step, std::int64_t piece) const {
  for (const schedule::Predecessor& wait : step.waits_for) {
    if (wait.step < first_) continue;
    const LiveStep& other = at(wait.step);
    if (!schedule::is_over(wait.how, piece, step.pieces, other.started, other.done, other.pieces))
      return false;
  }
  return true;
}

bool LiveSteps::complete(std::int32_t number, std::int64_t piece) {
  LiveStep& step = at(number);
  if (piece != step.done) {
    step.done_ahead |= std::uint64_t{1} << (piece - step.done - 1);
    return false;
  }
  ++step.done;
  for (; (step.done_ahead & 1) != 0; ++step.done) step.done_ahead >>= 1;
  step.done_ahead >>= 1;
  if (!step.is_done()) return false;
  for (int i = 0; i < step.touches; ++i) hull_of(step.touched[i]).remove();
  --waiting_;
  while (first_ < next_ && at(first_).is_done()) ++first_;
  return true;
}

}  // namespace unisono::model
