// SPDX-License-Identifier: BSD-3-Clause
// Where a run's buffers and channels lie.
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "schedule/run_state.h"
#include "shm/slice/slot_copy.h"

namespace unisono::schedule {

namespace {

constexpr std::size_t alignment_bytes = 64;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

shm::Slice::Use planned(const shm::Slice& slice, const CompiledStage& stage) {
  const Stage& shape = stage.shape;
  return slice.plan(stage.channel, shape.shared == SharedMode::common, shape.buffers, shape.lanes);
}

}  // namespace

void Arena::Free::operator()(char* memory) const {
  ::operator delete (memory, std::align_val_t{alignment_bytes});
}

char* Arena::reserve(std::size_t bytes) {
  if (bytes > bytes_) {
    bytes_ = aligned(std::max(bytes, bytes_ + bytes_ / 2));
    memory_.reset();
    memory_.reset(static_cast<char*>(::operator new (bytes_, std::align_val_t{alignment_bytes})));
  }
  return memory_.get();
}

void Arena::abandon() {
  static_cast<void>(memory_.release());
  bytes_ = 0;
}

std::size_t Executor::State::bytes_up_to(std::int64_t last, std::int64_t parts) const {
  return last == 0 ? 0 : static_cast<std::size_t>(elements_up_to(last, parts, units()) * element_bytes);
}

bool Executor::State::has_these_sizes() const {
  return sizes.compiled == compiled->number && sizes.elements == data.elements &&
         sizes.element_bytes == data.element_bytes && sizes.slice == ground.slice &&
         !data.lengths.are_uneven();
}

void Executor::State::take(const Compiled& what, const Ground& where, const Data& with) {
  compiled = &what;
  ground = where;
  data = with;
  if (!has_these_sizes()) measure();
  place_buffers();
}

// Finds what follows from the count. What another count made of references is found anew when they are met.
void Executor::State::measure() {
  const Compiled& what = *compiled;
  element_bytes = static_cast<std::int64_t>(data.element_bytes);
  sizes = {.number = sizes.number + 1,
           .compiled = what.number,
           .elements = data.elements,
           .element_bytes = data.element_bytes,
           .slice = ground.slice,
           .scratch_bytes = aligned(bytes_up_to(what.scratch_last, what.scratch_parts)),
           .output_bytes = bytes_up_to(what.output_last, what.output_parts)};
  if (located.size() < what.refs.size()) located.resize(what.refs.size());
  // What the node's ranks get together is more than their share of its caches, of which others want some.
  // Written into the caches, its lines would be fetched before they are overwritten, and would push out the
  // slots.
  is_output_streamed =
      ground.slice != nullptr && sizes.output_bytes * static_cast<std::size_t>(ground.slice->local_size()) >
                                     shm::last_level_cache_bytes() / 4;
  stages.resize(what.stages.size());
  is_whole = true;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const CompiledStage& stage = what.stages[i];
    stages[i].window = stage.shape.window;
    if (stage.channel < 0) stages[i].pieces = piece_count(stage.shape, units(), data.element_bytes, 0);
    is_whole = is_whole && stages[i].pieces == 1;
  }
}

void Executor::State::place_buffers() {
  bases[static_cast<int>(Place::input)] = static_cast<char*>(const_cast<void*>(data.input));
  bases[static_cast<int>(Place::output)] = static_cast<char*>(data.output);
  const std::size_t output_bytes = data.output == nullptr ? sizes.output_bytes : 0;
  if (sizes.scratch_bytes + output_bytes == 0) return;
  char* memory = arena.reserve(sizes.scratch_bytes + output_bytes);
  bases[static_cast<int>(Place::scratch)] = memory;
  if (data.output == nullptr) bases[static_cast<int>(Place::output)] = memory + sizes.scratch_bytes;
}

// Pieces are no longer than the slots that the stages get.
void Executor::State::begin_channels() {
  is_whole = true;
  std::size_t first_on_channel = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const CompiledStage& stage = compiled->stages[i];
    StageProgress& own = stages[i];
    if (stage.channel < 0) {
      is_whole = is_whole && own.pieces == 1;
      continue;
    }
    own.use = planned(*ground.slice, stage);
    own.pieces = piece_count(stage.shape, units(), data.element_bytes, own.use.lane_bytes);
    is_whole = is_whole && own.pieces == 1;
    if (stage.shape.continues_channel) {
      own.use = shm::Slice::go_on(&stages[first_on_channel].use, own.pieces);
    } else {
      ground.slice->begin(&own.use, own.pieces, stage.shape.ticks);
      first_on_channel = i;
    }
    ground.slice->spread(&own.use, longest_piece(stage.shape, units(), own.pieces) * data.element_bytes);
    if (!stage.has_node_steps) {
      const auto ticks = static_cast<std::uint64_t>(own.pieces * stage.shape.ticks);
      ground.slice->set_flag(stage.channel, own.use.base_tick + ticks);
    }
  }
}

void touch_slots(const Compiled& compiled, const shm::Slice& slice, std::int64_t bytes,
                 std::int64_t calls_before, std::int64_t calls) {
  std::vector<std::pair<std::int32_t, std::int32_t>> lanes;  // stage, lane
  for (const CompiledStep& step : compiled.steps) {
    const Ref& into = compiled.refs[static_cast<std::size_t>(step.into)];
    if (into.place == Place::shared) lanes.emplace_back(step.stage, into.lane);
  }
  std::ranges::sort(lanes);
  const auto repeated = std::ranges::unique(lanes);
  lanes.erase(repeated.begin(), repeated.end());
  const Units units(bytes);
  const auto pieces_of = [&](const CompiledStage& stage) {
    return piece_count(stage.shape, units, 1, planned(slice, stage).lane_bytes);
  };
  std::array<std::int64_t, shm::channel_count> pieces{};  // of a call
  for (const CompiledStage& stage : compiled.stages) {
    if (stage.channel >= 0) pieces[static_cast<std::size_t>(stage.channel)] += pieces_of(stage);
  }
  for (const auto& [number, lane] : lanes) {
    const CompiledStage& stage = compiled.stages[static_cast<std::size_t>(number)];
    const std::int64_t of_call = pieces[static_cast<std::size_t>(stage.channel)];
    slice.touch_lane(planned(slice, stage), lane, longest_piece(stage.shape, units, pieces_of(stage)),
                     {.before = calls_before * of_call, .next = calls * of_call, .of_call = of_call});
  }
}

}  // namespace unisono::schedule
