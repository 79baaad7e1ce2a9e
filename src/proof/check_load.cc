// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_load.h"

#include <algorithm>

namespace unisono::proof {

SlotGeometry slot_geometry(const schedule::Stage& stage, std::int64_t area_elements, int local_size) {
  SlotGeometry geometry;
  geometry.is_common = stage.shared == schedule::SharedMode::common;
  geometry.buffers = stage.buffers;
  const std::int64_t area = area_elements * (geometry.is_common ? local_size : 1);
  geometry.slot_elements = area / std::max(1, stage.buffers);
  geometry.lane_elements = geometry.slot_elements / std::max(1, stage.lanes);
  return geometry;
}

std::int64_t piece_count(const std::vector<schedule::Stage>& stages, std::size_t index, const CheckLoad& load,
                         const schedule::Units& units, std::int64_t lane_elements) {
  const schedule::Stage& stage = stages[index];
  const auto lane_bytes = static_cast<std::size_t>(lane_elements * load.element_bytes);
  if (load.pieces == 0 || stage.segment_bytes == 0) {
    return piece_count(stage, units, load.element_bytes, lane_bytes);
  }
  schedule::Stage uncut = stage;
  uncut.segment_bytes = 0;
  const int range = std::max(1, CheckLoad::most_pieces_of_stage + 1 - load.pieces);
  std::size_t first = index;
  if (stage.continues_channel) {
    while (stages[first].shared == schedule::SharedMode::none || stages[first].continues_channel) --first;
  }
  const std::int64_t forced = load.pieces + static_cast<int>(first) * load.pieces_step % range;
  return std::max(forced, piece_count(uncut, units, load.element_bytes, lane_bytes));
}

std::int64_t block_length(const schedule::Problem& problem, std::int64_t longest, int pattern, int from,
                          int to) {
  const bool is_alltoall = is_uneven_alltoall(problem.operation);
  if (sends_own_block(problem.operation)) to = from;
  if (!is_alltoall) from = to;
  switch (pattern) {
    case 1:
      return (longest + from * 3 + to * 2) % (longest + 1);
    case 2:
      return to == problem.size - 1 && (!is_alltoall || from == problem.size / 2) ? longest : 0;
    case 3:
      return (from + to) % 3 == 1 ? 0 : (from + to) % 2 == 0 ? longest : (longest + 1) / 2;
    default:
      return longest;
  }
}

std::vector<std::int64_t> block_starts(const schedule::Problem& problem, std::int64_t longest, int pattern) {
  std::vector<std::int64_t> starts{0};
  const auto add = [&](int from, int to) {
    starts.push_back(starts.back() + block_length(problem, longest, pattern, from, to));
  };
  const bool is_alltoall = is_uneven_alltoall(problem.operation);
  for (int peer = 0; peer < problem.size; ++peer) add(is_alltoall ? problem.rank : peer, peer);
  for (int peer = 0; is_alltoall && peer < problem.size; ++peer) add(peer, problem.rank);
  return starts;
}

std::int64_t block_extent(const schedule::Problem& problem, const std::vector<std::int64_t>& starts,
                          schedule::Place place) {
  const std::int64_t first = first_block(problem, place);
  if (is_uneven_alltoall(problem.operation)) return starts[first + problem.size] - starts[first];
  const bool is_input = place == schedule::Place::input;
  return is_input == sends_own_block(problem.operation) ? starts[first + 1] - starts[first] : starts.back();
}

void fit_slots(const CheckedCall& call, CheckLoad* load) {
  if (call.graph == nullptr) return;
  load->area_elements = 1;
  for (const auto& ranks : call.problem.layout->ranks_of) {
    const LoadedProgram program(call, ranks.front(), *load);
    for (const schedule::Stage& stage : program.program().stages) {
      if (stage.shared == schedule::SharedMode::none) continue;
      load->area_elements =
          std::max<std::int64_t>(load->area_elements, std::int64_t{stage.buffers} * stage.lanes);
      if (program.program().blocks->slots.empty())
        load->area_elements = std::max(load->area_elements, load->elements * stage.buffers * stage.lanes);
      for (const schedule::BlockTable::Run& slot : program.program().blocks->slots) {
        const std::int64_t elements = program.starts()[slot.last] - program.starts()[slot.first];
        load->area_elements = std::max(load->area_elements, elements * stage.buffers * stage.lanes);
      }
    }
  }
}

LoadedProgram::LoadedProgram(const CheckedCall& call, int rank, const CheckLoad& load)
    : program_(&call.programs[rank]),
      problem_(call.problem_of(rank)),
      load_(load),
      rank_(rank),
      size_(call.problem.size),
      local_rank_(call.problem.layout->local_rank_of[rank]),
      local_size_(call.problem.layout->local_size(rank)) {
  if (call.graph != nullptr) {
    find_blocks(*call.graph);
  } else if (has_uneven_blocks(problem_.operation)) {
    starts_ = block_starts(problem_, load_.elements, load_.pattern);
    most_ = has_known_blocks(problem_.operation) ? starts_.back() : schedule::unknown_elements;
  }
  for (const schedule::Stage& stage : program_->stages) {
    geometries_.push_back(slot_geometry(stage, load.area_elements, local_size_));
    const bool is_left_out = is_short_ && std::ssize(pieces_) >= program_->stages_of_short;
    pieces_.push_back(is_left_out ? 0
                                  : piece_count(program_->stages, pieces_.size(), load, units(),
                                                geometries_.back().lane_elements));
  }
  first_instance_.reserve(program_->steps.size() + 1);
  int next = 0;
  for (std::size_t step = 0; step < program_->steps.size(); ++step) {
    first_instance_.push_back(next);
    const auto pieces = static_cast<int>(pieces_[program_->steps[step].stage]);
    step_of_.insert(step_of_.end(), pieces, static_cast<std::int32_t>(step));
    next += pieces;
  }
  first_instance_.push_back(next);
}

void LoadedProgram::find_blocks(const CheckedGraph& graph) {
  const schedule::BlockTable& table = *program_->blocks;
  const std::int64_t longest = load_.elements;
  const std::vector<std::int64_t> told = graph.told(table, rank_, longest, load_.pattern);
  limits_ = load_.limits.value_or(table.limits);
  const schedule::Longest found = find_starts(table, limits_, told, load_.element_bytes, &starts_);
  is_short_ = program_->stages_of_short >= 0 && limits_.is_short(found.block * load_.element_bytes);
  load_.elements = found.piece;
  most_ = schedule::unknown_elements;
  inputs_ = outputs_ = {0};
  for (int i = 0; i < graph.sent_blocks(rank_); ++i)
    inputs_.push_back(inputs_.back() + graph.sent(rank_, i, longest, load_.pattern));
  for (int i = 0; i < graph.received_blocks(rank_); ++i)
    outputs_.push_back(outputs_.back() + graph.received(rank_, i, longest, load_.pattern));
}

schedule::ElementRange LoadedProgram::range(int instance, const schedule::Ref& ref) const {
  const int step = step_of_[instance];
  const schedule::ElementRange range =
      piece_range(ref, units(), instance - first_instance_[step], pieces_[program_->steps[step].stage]);
  if (program_->blocks != nullptr &&
      (ref.place == schedule::Place::input || ref.place == schedule::Place::output)) {
    if (range.length() == 0) return {};
    const schedule::NumberedBlock& number = program_->blocks->blocks[ref.first];
    const auto index = static_cast<std::size_t>(number.index);
    const std::vector<std::int64_t>& own = ref.place == schedule::Place::input ? inputs_ : outputs_;
    const std::int64_t in_block =
        range_in_block(number, limits_, own[index + 1] - own[index], load_.element_bytes).first;
    const std::int64_t moved = own[index] + in_block - starts_[ref.first];
    return {range.first + moved, range.last + moved};
  }
  if (starts_.empty() || (ref.place != schedule::Place::input && ref.place != schedule::Place::output))
    return range;
  const std::int64_t origin = starts_[first_block(problem_, ref.place)];
  return {range.first - origin, range.last - origin};
}

std::int64_t LoadedProgram::offset_in_lane(int instance, const schedule::Ref& ref) const {
  const int step = step_of_[instance];
  return schedule::offset_in_lane(ref, units(), instance - first_instance_[step],
                                  pieces_[program_->steps[step].stage]);
}

bool LoadedProgram::goes_another_way(int instance) const {
  const schedule::Step& step = program_->steps[step_of_[instance]].step;
  return program_->blocks != nullptr && step.kind == schedule::StepKind::copy &&
         range(instance, step.into).length() == 0;
}

bool LoadedProgram::is_cell(const schedule::Ref& ref) const {
  if (program_->blocks == nullptr) return false;
  const auto& blocks = program_->blocks->blocks;
  return std::any_of(
      blocks.begin() + ref.first, blocks.begin() + ref.last, [](const schedule::NumberedBlock& number) {
        return number.kept == schedule::Kept::cell || number.kept == schedule::Kept::behind_block;
      });
}

AccessList LoadedProgram::accesses(int instance) const {
  const schedule::Step& step = program_->steps[step_of_[instance]].step;
  AccessList list;
  if (goes_another_way(instance)) return list;
  const auto touch = [&](const schedule::Ref& ref, bool is_write) {
    if (ref.place == schedule::Place::input || ref.place == schedule::Place::output ||
        ref.place == schedule::Place::scratch) {
      list.add(ref.place, range(instance, ref), is_write);
    }
  };
  switch (step.kind) {
    case schedule::StepKind::send:
      touch(step.left, false);
      break;
    case schedule::StepKind::recv:
      touch(step.into, true);
      break;
    case schedule::StepKind::copy:
    case schedule::StepKind::node_allreduce:
      touch(step.left, false);
      touch(step.into, true);
      break;
    case schedule::StepKind::reduce:
      touch(step.left, false);
      touch(step.right, false);
      touch(step.into, true);
      break;
    case schedule::StepKind::node_bcast:
      touch(step.into, local_rank_ != step.peer);
      break;
    case schedule::StepKind::node_reduce:
    case schedule::StepKind::node_gather:
      touch(step.left, false);
      if (local_rank_ == step.peer) touch(step.into, true);
      break;
    case schedule::StepKind::node_scatter:
      if (local_rank_ == step.peer) touch(step.left, false);
      touch(step.into, true);
      break;
    case schedule::StepKind::node_exscan:
      touch(step.left, false);
      if (local_rank_ != 0) touch(step.into, true);
      break;
    case schedule::StepKind::node_scan:
    case schedule::StepKind::node_reduce_scatter:
    case schedule::StepKind::node_allgather:
    case schedule::StepKind::node_alltoall:
      touch(step.left, false);
      touch(step.into, true);
      break;
    case schedule::StepKind::signal:
    case schedule::StepKind::await:
    case schedule::StepKind::await_all:
    case schedule::StepKind::await_space:
    case schedule::StepKind::expose:
    case schedule::StepKind::node_barrier:
      break;
  }
  return list;
}

bool LoadedProgram::is_sent(int instance) const {
  const CheckedStep& checked = program_->steps[step_of_[instance]];
  const schedule::Ref& data =
      checked.step.kind == schedule::StepKind::send ? checked.step.left : checked.step.into;
  return checked.is_token || range(instance, data).length() > 0;
}

std::int64_t LoadedProgram::extent(schedule::Place place) const {
  const std::int64_t n = load_.elements;
  if (program_->blocks != nullptr && place != schedule::Place::scratch)
    return place == schedule::Place::input    ? inputs_.back()
           : place == schedule::Place::output ? outputs_.back()
                                              : 0;
  if (!starts_.empty() && (place == schedule::Place::input || place == schedule::Place::output)) {
    return block_extent(problem_, starts_, place);
  }
  switch (place) {
    case schedule::Place::scratch:
      return elements_up_to(program_->scratch, program_->scratch_parts, units());
    case schedule::Place::input:
      if (!moves_data(problem_.operation) || has_one_buffer(problem_.operation)) return 0;
      return sends_all_blocks(problem_.operation) ? size_ * n : n;
    case schedule::Place::output:
      if (!moves_data(problem_.operation)) return 0;
      return gets_all_blocks(problem_.operation) ? size_ * n : n;
    case schedule::Place::shared:
    case schedule::Place::remote_input:
    case schedule::Place::remote_output:
      return 0;
  }
  return 0;
}

}  // namespace unisono::proof
