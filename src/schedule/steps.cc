// SPDX-License-Identifier: BSD-3-Clause
// What single steps do, and where their bytes lie.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/short_copy.h"
#include "schedule/dependencies.h"
#include "schedule/run_state.h"
#include "shm/slice/slot_copy.h"

namespace unisono::schedule {

namespace {

constexpr std::int64_t staging_bytes = 64 << 10;

}  // namespace

char* Executor::State::uneven_address(const Ref& ref, std::int64_t element) const {
  if (ref.place == Place::scratch) return own_address(ref, element);
  const std::int64_t* places = ref.place == Place::input ? data.input_places : data.output_places;
  const std::int64_t first = first_block(compiled->problem, ref.place);
  if (places == nullptr) return own_address(ref, element - data.lengths.start(first));
  return own_address(ref, element - data.lengths.start(ref.first) + places[ref.first - first]);
}

char* Executor::State::address_of_piece(const Ref& ref, const CompiledStep& step, std::int64_t piece,
                                        std::int64_t* length) {
  const StageProgress& stage = stages[step.stage];
  const ElementRange range = piece_range(ref, units(), piece, stage.pieces);
  *length = range.length();
  if (ref.place != Place::shared) {
    return data.lengths.are_uneven() ? uneven_address(ref, range.first) : own_address(ref, range.first);
  }
  return slot(ref, step, piece) + offset_in_lane(ref, units(), piece, stage.pieces) * element_bytes;
}

void Executor::State::find(std::int32_t number) {
  const CompiledRef& ref = compiled->refs[number];
  const ElementRange range = element_range(ref, data.elements);
  located[number] = {sizes.number, range.first * element_bytes, range.length(), ref.place};
}

std::uint64_t Executor::State::remote_address(const Ref& ref, const CompiledStep& step,
                                              std::int64_t piece) const {
  const StageProgress& stage = stages[step.stage];
  const shm::Exposure exposure = ground.slice->exposed(stage.use, piece, ref.owner);
  const std::int64_t element = piece_range(ref, units(), piece, stage.pieces).first;
  const std::uint64_t base = ref.place == Place::remote_input ? exposure.input : exposure.output;
  return base + static_cast<std::uint64_t>(element * element_bytes);
}

bool Executor::State::do_copy(std::int32_t index, const CompiledStep& step, std::int64_t piece) {
  const CompiledRef& from = compiled->refs[step.left];
  std::int64_t length = 0;
  char* into = address(step.into, step, piece, &length);
  if (length == 0) return true;
  local_bytes += length * element_bytes;
  if (is_remote(from.place)) {
    const auto whole = static_cast<std::size_t>(length * element_bytes);
    if (ground.slice->read_remote(from.owner, remote_address(from, step, piece), into, whole)) return true;
    return begin_asking(index, step, piece, {into, length, 0});
  }
  const char* source = address(step.left, step, piece, &length);
  const auto bytes = static_cast<std::size_t>(length * element_bytes);
  const bool is_into_slot = compiled->refs[step.into].place == Place::shared;
  const bool is_out_of_slot = from.place == Place::shared;
  if (is_into_slot && !is_out_of_slot) {
    ground.slice->put(into, source, bytes, owner_of_slot(compiled->refs[step.into], step));
  } else if (is_out_of_slot && !is_into_slot) {
    ground.slice->get(into, source, bytes, owner_of_slot(from, step), is_output_streamed);
  } else if (is_output_streamed && compiled->refs[step.into].place == Place::output &&
             (into + bytes <= source || source + bytes <= into)) {
    shm::copy_streaming(into, source, bytes);
  } else {
    copy_bytes(into, source, bytes);
  }
  return true;
}

bool Executor::State::do_reduce(std::int32_t index, const CompiledStep& step, std::int64_t piece) {
  std::int64_t length = 0;
  char* into = address(step.into, step, piece, &length);
  if (length == 0) return true;
  local_bytes += length * element_bytes;
  if (is_remote(compiled->refs[step.left].place) || is_remote(compiled->refs[step.right].place)) {
    const std::int64_t done = reduce_remote(step, piece, into, length);
    return done == length || begin_asking(index, step, piece, {into, length, done});
  } else {
    const char* left = address(step.left, step, piece, &length);
    const char* right = address(step.right, step, piece, &length);
    reduce_slots(step, into, left, right, static_cast<std::size_t>(length));
  }
  return true;
}

void Executor::State::reduce_slots(const CompiledStep& step, char* into, const char* left_data,
                                   const char* right_data, std::size_t count) {
  const CompiledRef& left = compiled->refs[step.left];
  const CompiledRef& right = compiled->refs[step.right];
  const std::size_t bytes = count * data.element_bytes;
  shm::Slice::Transfer read, written;
  if (left.place == Place::shared) {
    read = ground.slice->begin_get(left_data, bytes, owner_of_slot(left, step));
  }
  if (right.place == Place::shared && read.start_ns == 0) {
    read = ground.slice->begin_get(right_data, bytes, owner_of_slot(right, step));
  }
  if (step.is_for_others) {
    written = ground.slice->begin_put(into, bytes, owner_of_slot(compiled->refs[step.into], step));
  }
  if (written.is_past_caches) {
    reduce_past_caches(into, left_data, right_data, count);
  } else {
    data.combine(into, left_data, right_data, count);
  }
  if (step.is_for_others) ground.slice->end_put(written);
  if (read.start_ns != 0) ground.slice->end_get(read);
}

// Others have what stood in the slot before in their caches: the result is made in the own one.
void Executor::State::reduce_past_caches(char* into, const char* left, const char* right, std::size_t count) {
  constexpr std::size_t chunk_bytes = 8 << 10;
  const std::size_t most = std::max<std::size_t>(1, chunk_bytes / data.element_bytes);
  char* chunk = single_copy.staging.reserve(most * data.element_bytes);
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t offset = first * data.element_bytes;
    const std::size_t some = std::min(most, count - first);
    data.combine(chunk, left + offset, right + offset, some);
    shm::copy_streaming(into + offset, chunk, some * data.element_bytes);
  }
}

// Operands of other ranks are fetched in parts that stay in the cache. How many elements are done: all,
// unless the kernel refuses.
std::int64_t Executor::State::reduce_remote(const CompiledStep& step, std::int64_t piece, char* into,
                                            std::int64_t length) {
  const std::int64_t most = std::max<std::int64_t>(1, staging_bytes / element_bytes);
  char* stage_left = single_copy.staging.reserve(static_cast<std::size_t>(2 * most * element_bytes));
  char* stage_right = stage_left + most * element_bytes;
  for (std::int64_t first = 0; first < length; first += most) {
    const std::int64_t count = std::min(most, length - first);
    const auto fetch = [&](std::int32_t number, char* stage) -> const char* {
      const CompiledRef& ref = compiled->refs[number];
      std::int64_t unused = 0;
      if (!is_remote(ref.place)) return address(number, step, piece, &unused) + first * element_bytes;
      const std::uint64_t from =
          remote_address(ref, step, piece) + static_cast<std::uint64_t>(first * element_bytes);
      const auto bytes = static_cast<std::size_t>(count * element_bytes);
      return ground.slice->read_remote(ref.owner, from, stage, bytes) ? stage : nullptr;
    };
    const char* left_data = fetch(step.left, stage_left);
    const char* right_data = left_data == nullptr ? nullptr : fetch(step.right, stage_right);
    if (right_data == nullptr) return first;
    data.combine(into + first * element_bytes, left_data, right_data, static_cast<std::size_t>(count));
  }
  return length;
}

void Executor::State::reduce_own_part(const CompiledStep& step, char* into, const char* from,
                                      std::size_t length, std::size_t total) {
  shm::Slice& slice = *ground.slice;
  if (!data.lengths.are_uneven()) return slice.reduce_scatter(into, from, length, data.combine);
  const std::int64_t first = data.lengths.start(compiled->refs[step.into].first);
  slice.reduce_part(into, from, static_cast<std::size_t>(first), length, total, data.combine);
}

void Executor::State::do_fused_along(const patterns::DomainTree& tree, const CompiledStep& step,
                                     std::int64_t piece) {
  shm::Slice& slice = *ground.slice;
  const auto local_rank = static_cast<std::size_t>(slice.local_rank());
  const shm::TreePlace place{.parent = tree.parent[local_rank], .children = tree.children[local_rank]};
  if (step.kind == StepKind::node_barrier) {
    if (step.tick == upper_half) return slice.await_below(place);
    return step.tick == lower_half ? slice.await_above(place) : slice.barrier(place);
  }
  std::int64_t length = 0;
  char* into = address(step.into, step, piece, &length);
  const char* from = address(step.left, step, piece, &length);
  const auto count = static_cast<std::size_t>(length);
  if (step.kind == StepKind::node_bcast) {
    slice.bcast(into, count * data.element_bytes, place);
  } else if (step.kind == StepKind::node_reduce) {
    slice.reduce(into, from, count, data.combine, place);
  } else {
    slice.allreduce(into, from, count, data.combine, place);
  }
}

void Executor::State::do_fused(const CompiledStep& step, std::int64_t piece) {
  shm::Slice& slice = *ground.slice;
  if (step.tree >= 0)
    return do_fused_along(*compiled->trees[static_cast<std::size_t>(step.tree)], step, piece);
  if (step.kind == StepKind::node_barrier) {
    slice.barrier();
    return;
  }
  std::int64_t length = 0, into_length = 0;
  char* into = address(step.into, step, piece, &into_length);
  const char* from = address(step.left, step, piece, &length);
  const auto count = static_cast<std::size_t>(length);
  switch (step.kind) {
    case StepKind::node_bcast:
      slice.bcast(into, count * data.element_bytes, step.peer);
      return;
    case StepKind::node_reduce:
      slice.reduce(into, from, count, data.combine, step.peer);
      return;
    case StepKind::node_allreduce:
      slice.allreduce(into, from, count, data.combine);
      return;
    case StepKind::node_scan:
      slice.scan(into, from, count, data.combine);
      return;
    case StepKind::node_exscan:
      slice.exscan(into, from, count, data.combine);
      return;
    case StepKind::node_reduce_scatter:
      reduce_own_part(step, into, from, static_cast<std::size_t>(into_length), count);
      return;
    case StepKind::node_gather:
      slice.gather(into, from, count * data.element_bytes, step.peer);
      return;
    case StepKind::node_scatter:
      slice.scatter(into, from, static_cast<std::size_t>(into_length) * data.element_bytes, step.peer);
      return;
    case StepKind::node_alltoall:
      slice.alltoall(into, from, count / slice.local_size() * data.element_bytes);
      return;
    default:
      slice.allgather(into, from, count * data.element_bytes);
      return;
  }
}

void Executor::State::do_expose(const CompiledStep& step, std::int64_t piece) {
  single_copy.has_exposed = true;
  const auto exposed = [this](const Ref& ref) {
    return reinterpret_cast<std::uint64_t>(own_address(ref, scaled(ref.first, ref.parts, data.elements)));
  };
  ground.slice->expose(
      stages[step.stage].use, piece,
      {.input = exposed(compiled->exposed_input), .output = exposed(compiled->exposed_output)});
}

std::uint64_t Executor::State::tick_of(const CompiledStep& step, std::int64_t piece) const {
  const StageProgress& stage = stages[step.stage];
  const std::int64_t ticks = piece * compiled->stages[step.stage].shape.ticks + step.tick;
  return stage.use.base_tick + static_cast<std::uint64_t>(ticks);
}

bool Executor::State::is_await_over(const CompiledStep& step, std::int64_t piece) {
  const shm::Slice::Use& use = stages[step.stage].use;
  switch (step.kind) {
    case StepKind::await:
      return ground.slice->flag(use.channel, step.peer) >= tick_of(step, piece);
    case StepKind::await_all:
      return ground.slice->all_reached(use.channel, tick_of(step, piece));
    default:
      return ground.slice->all_reached(use.channel, shm::Slice::space_tick(use, piece));
  }
}

bool Executor::State::start_node_step(std::int32_t index, const CompiledStep& step, std::int64_t piece) {
  switch (step.kind) {
    case StepKind::send:
    case StepKind::recv:
    case StepKind::copy:
    case StepKind::reduce:
      break;  // start_piece
    case StepKind::signal:
      ground.slice->set_flag(stages[step.stage].use.channel, tick_of(step, piece));
      return true;
    case StepKind::await:
    case StepKind::await_all:
    case StepKind::await_space:
      if (is_await_over(step, piece)) return true;
      awaiting.push_back({index, piece});
      return false;
    case StepKind::expose:
      do_expose(step, piece);
      return true;
    case StepKind::node_barrier:
    case StepKind::node_bcast:
    case StepKind::node_reduce:
    case StepKind::node_allreduce:
    case StepKind::node_scan:
    case StepKind::node_exscan:
    case StepKind::node_reduce_scatter:
    case StepKind::node_allgather:
    case StepKind::node_gather:
    case StepKind::node_scatter:
    case StepKind::node_alltoall:
      do_fused(step, piece);
      return true;
  }
  return true;
}

}  // namespace unisono::schedule
