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

namespace {

constexpr std::int64_t least_area_bytes = 16 * 1024;  // of a rank, as the runtime has it
constexpr std::uint32_t least_ring = 4;

std::int64_t lane_bytes(const Stage& stage, std::int64_t channel_bytes, int local_size) {
  const std::int64_t area = area_bytes(channel_bytes, local_size);
  const std::int64_t areas = stage.shared == SharedMode::common ? local_size : 1;
  return std::max<std::int64_t>(1, areas * area / std::max(1, stage.buffers) / std::max(1, stage.lanes));
}

}  // namespace

std::int64_t area_bytes(std::int64_t channel_bytes, int local_size) {
  return std::max(least_area_bytes, channel_bytes / std::max(1, local_size));
}

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
  find_blocks(&program_);
  plan(program_.stages);
}

// All blocks of neighbours are equally long. Stages for longer ones go.
void LiveSteps::find_blocks(Program* program) {
  if (program->blocks == nullptr) return;
  const schedule::BlockTable& table = *program->blocks;
  const std::vector<std::int64_t> told(
      static_cast<std::size_t>(table.told_by_rank) * static_cast<std::size_t>(local_size_), size_.elements);
  const schedule::BlockLimits limits =
      limits_within(table, program->stages, size_.room.bundled, size_.room.own);
  const schedule::Longest longest = find_starts(table, limits, told, size_.element_bytes, &starts_);
  if (program->stages_of_short >= 0 && limits.is_short(longest.block * size_.element_bytes)) {
    program->stages.resize(static_cast<std::size_t>(program->stages_of_short));
    program->stages_of_short = -1;
  }
  units_ = {longest.piece, {starts_.data(), std::ssize(table.blocks)}, schedule::unknown_elements};
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
    asked_.first = next_;
    asked_.first_blocking = asked_.last_blocking = asked_.blocking_round = asked_.first_node = -1;
    if (!stage.continues_channel) asked_.last_on_channel = -1;
    asked_.last_node = asked_.last_on_channel;
    asked_.last_exposed_await = -1;
    asked_.is_exposed = false;
    asked_.sends = 0;
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

std::int32_t LiveSteps::writer_of(const Ref& ref, const LiveStep& step) const {
  const bool is_of_all = ref.place == Place::shared && stage_of(step).shared == schedule::SharedMode::common;
  return is_of_all ? LiveStep::awaited : ref.owner;
}

void LiveSteps::fill(const Step& step, LiveStep* live) const {
  live->kind = step.kind;
  live->peer = step.peer;
  live->tick = step.tick;
  live->along = step.along;
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
    live->is_in_run = live->is_in_run || (is_write && ref->lane_first >= 0);
    if (!is_write) live->fetched_from[ref == named.reads[1] ? 1 : 0] = writer_of(*ref, *live);
    if (!is_write && ref->place == Place::shared) ++live->shared_reads;
  }
  if (is_fused(step.kind) && named.write != nullptr) {
    // Of blocks for all ranks that are written or read, one counts.
    const bool is_scattered = step.kind == StepKind::node_scatter;
    if (is_scattered || step.kind == StepKind::node_bcast) live->data = touch(*named.write, true);
  }
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
