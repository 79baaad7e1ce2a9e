// SPDX-License-Identifier: BSD-3-Clause
// The checker's data: buffers, what steps do to them, what a call must end with.
#include <algorithm>

#include "proof/check_run.h"
#include "schedule/describe.h"

namespace unisono::proof {
namespace {

void fill(std::vector<Cell>* cells, std::int64_t first, std::int64_t count, std::int32_t value) {
  for (std::int64_t i = 0; i < count; ++i) {
    (*cells)[first + i] = {value, static_cast<std::int32_t>(i)};
  }
}

}  // namespace

void CheckRun::fill_buffers(int rank) {
  RankState& state = ranks_[rank];
  const int call = state.call;
  const schedule::Problem problem = plan_.call(call).problem_of(rank);
  const LoadedProgram& program = plan_.program(call, rank);
  const std::int64_t n = plan_.elements(call);
  const bool is_root = rank == problem.root;
  const Operation operation = problem.operation;
  const std::int32_t own = expressions_.leaf(call, rank);

  const bool is_handed_out = is_scatter(operation);
  const bool gives_input = is_handed_out ? is_root : !problem.is_in_place;
  state.input.assign(gives_input ? program.extent(schedule::Place::input) : 0, Cell{});
  if (gives_input) fill(&state.input, 0, program.extent(schedule::Place::input), own);
  state.output.assign(program.extent(schedule::Place::output), Cell{});
  if (has_one_buffer(operation) && is_root) fill(&state.output, 0, n, own);
  if (problem.is_in_place && has_uneven_blocks(operation)) {
    if (!is_handed_out) fill(&state.output, program.starts()[rank], program.length(rank), own);
  } else if (problem.is_in_place) {
    const bool is_block = sends_own_block(operation);
    if (is_reduction(operation) || is_block) fill(&state.output, is_block ? rank * n : 0, n, own);
  }
  for (int other = 0; rank == plan_.call(call).knowing_rank && other < plan_.ranks(); ++other) {
    fill(&state.output, other * n, n, expressions_.leaf(call, other));
  }
  state.scratch.assign(program.extent(schedule::Place::scratch), Cell{});
  state.known.assign(words_, 0);
  if (words_ != 0) state.known[rank / 64] |= std::uint64_t{1} << (rank % 64);
  if (plan_.has_remote()) {
    state.input_marks.assign(state.input.size(), {});
    state.output_marks.assign(state.output.size(), {});
  }
}

CheckRun::Span CheckRun::operand(int instance, const schedule::Ref& ref, bool is_write) {
  switch (ref.place) {
    case schedule::Place::shared:
      return slot_cells(instance, ref, is_write);
    case schedule::Place::remote_input:
    case schedule::Place::remote_output:
      if (!is_write) return remote_cells(instance, ref);
      fail(instance, "writes into another rank's memory");
      return {};
    case schedule::Place::input:
    case schedule::Place::output:
    case schedule::Place::scratch:
      break;
  }
  return own_cells(instance, ref.place, plan_.program_of(instance).range(plan_.local(instance), ref),
                   is_write);
}

CheckRun::Span CheckRun::own_cells(int instance, schedule::Place place, const schedule::ElementRange& range,
                                   bool is_write) {
  RankState& state = ranks_[plan_.rank_of(instance)];
  auto& cells = place == schedule::Place::input    ? state.input
                : place == schedule::Place::output ? state.output
                                                   : state.scratch;
  if (range.length() > 0 && (range.first < 0 || range.last > static_cast<std::int64_t>(cells.size()))) {
    fail(instance, std::string(name(place)) + " has " + std::to_string(cells.size()) +
                       " elements here, it reaches to " + std::to_string(range.last));
    return {};
  }
  if (is_write && place == schedule::Place::input && range.length() > 0) {
    fail(instance, "writes to the input");
    return {};
  }
  if (is_write && plan_.has_remote()) mark_own(instance, place, range, is_write);
  return {cells.data() + range.first, range.length()};
}

// What an instance has seen when it starts. A message goes on while its thread goes on, so that its own clock
// is kept.
const Clock& CheckRun::clock_of(int instance) {
  const int rank = plan_.rank_of(instance);
  const int thread = plan_.thread_of(instance);
  if (thread >= 0 && !is_message(plan_.step_of(instance).step.kind)) {
    return node(rank).memory->clock(local_rank_of(rank), thread);
  }
  return clocks_[instance] ? *clocks_[instance] : ranks_[rank].start;
}

// A rank writes where other ranks of its node may be reading.
void CheckRun::mark_own(int instance, schedule::Place place, const schedule::ElementRange& range,
                        bool is_write) {
  if (place == schedule::Place::scratch || !is_write) return;
  const int rank = plan_.rank_of(instance);
  RankState& state = ranks_[rank];
  const NodeMemory& memory = *node(rank).memory;
  const Clock& clock = clock_of(instance);
  auto& marks = place == schedule::Place::input ? state.input_marks : state.output_marks;
  for (std::int64_t i = range.first; i < range.last; ++i) {
    for (const NodeMemory::Touch& reader : marks[i].readers) {
      if (memory.has_happened(clock, reader.local_rank, reader.thread, reader.index)) continue;
      fail(instance,
           "overwrites what local rank " + std::to_string(reader.local_rank) + " may not have read yet");
      return;
    }
    marks[i].writer = instance;
    marks[i].readers.clear();
  }
}

CheckRun::Span CheckRun::remote_cells(int instance, const schedule::Ref& ref) {
  const int rank = plan_.rank_of(instance);
  const int call = plan_.call_of(instance);
  NodeMemory& memory = *node(rank).memory;
  const int owner = plan_.layout().ranks_of[node_of(rank)][ref.owner];
  const std::string found =
      memory.see_exposed(use_of(instance), plan_.piece_of(instance), ref.owner, local_rank_of(rank), call);
  RankState& other = ranks_[owner];
  if (!found.empty() || other.call != call) {
    fail(instance, found.empty() ? "reads memory of a rank that is not in this call" : found);
    return {};
  }
  const schedule::Ref there = in_place(
      plan_.call(call).problem_of(owner),
      ref.in(ref.place == schedule::Place::remote_input ? schedule::Place::input : schedule::Place::output));
  const schedule::ElementRange range = plan_.program_of(instance).range(plan_.local(instance), there);
  const bool is_input = there.place == schedule::Place::input;
  auto& cells = is_input ? other.input : other.output;
  auto& marks = is_input ? other.input_marks : other.output_marks;
  if (range.length() > 0 && (range.first < 0 || range.last > static_cast<std::int64_t>(cells.size()))) {
    fail(instance, "reaches beyond local rank " + std::to_string(ref.owner) + "'s memory");
    return {};
  }
  const int thread = plan_.thread_of(instance);
  const Clock& clock = memory.clock(local_rank_of(rank), thread);
  for (std::int64_t i = range.first; i < range.last; ++i) {
    const int writer = marks[i].writer;
    bool is_ordered = writer < 0;
    for (int other_thread = 0; other_thread <= plan_.channels() && !is_ordered; ++other_thread) {
      is_ordered = memory.has_happened(clock, ref.owner, other_thread, plan_.release(writer, other_thread));
    }
    if (!is_ordered) {
      fail(instance, "reads what local rank " + std::to_string(ref.owner) + " may not have written yet");
      return {};
    }
    marks[i].readers.push_back(memory.touch(local_rank_of(rank), thread));
  }
  return {cells.data() + range.first, range.length()};
}

CheckRun::Span CheckRun::slot_cells(int instance, const schedule::Ref& ref, bool is_write) {
  const int rank = plan_.rank_of(instance);
  NodeMemory& memory = *node(rank).memory;
  const LoadedProgram& program = plan_.program_of(instance);
  const ChannelUse& use = use_of(instance);
  const std::int64_t length = program.range(plan_.local(instance), ref).length();
  const std::int64_t offset = program.offset_in_lane(plan_.local(instance), ref);
  if (offset + length > use.geometry.lane_elements) {
    fail(instance, "needs " + std::to_string(offset + length) + " elements, a lane has " +
                       std::to_string(use.geometry.lane_elements));
    return {};
  }
  const std::int64_t address = memory.address(use, plan_.piece_of(instance), ref.owner, ref.lane, offset);
  const Clock& clock = clock_of(instance);
  const std::string found = is_write ? memory.write(use.channel, address, length, local_rank_of(rank), clock)
                                     : memory.read(use.channel, address, length, local_rank_of(rank), clock);
  if (!found.empty()) fail(instance, found);
  return {memory.cells(use.channel, address), length};
}

bool CheckRun::check_defined(int instance, const Span& span) {
  for (std::int64_t i = 0; i < span.length; ++i) {
    if (span.data == nullptr) return false;
    if (span.data[i].value < 0) {
      fail(instance, "reads data that was never written (element " + std::to_string(i) + " of " +
                         std::to_string(span.length) + ")");
      return false;
    }
    if (expressions_.call_of(span.data[i].value) != plan_.call_of(instance)) {
      fail(instance, "reads data that an earlier call left");
      return false;
    }
  }
  return true;
}

void CheckRun::copy(int instance) {
  const schedule::Step& step = plan_.step_of(instance).step;
  if (plan_.program_of(instance).goes_another_way(plan_.local(instance))) return;
  const Span from = operand(instance, step.left, false);
  const Span into = operand(instance, step.into, true);
  const bool is_cell = plan_.program_of(instance).is_cell(step.left);
  if ((!is_cell && !check_defined(instance, from)) || into.data == nullptr) return;
  if (from.length != into.length) {
    fail(instance, "copies " + std::to_string(from.length) + " elements into " + std::to_string(into.length));
    return;
  }
  std::copy(from.data, from.data + from.length, into.data);
}

Cell CheckRun::combine(int instance, const Cell& left, const Cell& right) {
  if (left.element != right.element) {
    fail(instance, "combines element " + std::to_string(left.element) + " with element " +
                       std::to_string(right.element));
    return {};
  }
  const bool is_commutative = plan_.call(plan_.call_of(instance)).problem.is_commutative;
  const std::int32_t value = expressions_.combine(left.value, right.value, is_commutative);
  if (value < 0) {
    fail(instance, std::string(Expressions::describe(static_cast<Expressions::Fault>(value))) + ": " +
                       expressions_.describe(left.value) + " and " + expressions_.describe(right.value));
    return {};
  }
  return {value, left.element};
}

void CheckRun::reduce(int instance) {
  const schedule::Step& step = plan_.step_of(instance).step;
  const Span left = operand(instance, step.left, false);
  const Span right = operand(instance, step.right, false);
  const Span into = operand(instance, step.into, true);
  if (!check_defined(instance, left) || !check_defined(instance, right) || into.data == nullptr) return;
  if (left.length != into.length || right.length != into.length) {
    fail(instance, "combines " + std::to_string(left.length) + " and " + std::to_string(right.length) +
                       " elements into " + std::to_string(into.length));
    return;
  }
  for (std::int64_t i = 0; i < into.length && failures_.empty(); ++i) {
    into.data[i] = combine(instance, left.data[i], right.data[i]);
  }
}

CheckRun::Wanted CheckRun::wanted(const schedule::Problem& problem, std::int64_t at) const {
  const int call = ranks_[problem.rank].call;
  if (!has_uneven_blocks(problem.operation)) {
    const std::int64_t n = plan_.elements(call);
    const std::int64_t first = sends_all_blocks(problem.operation) ? problem.rank * n : 0;
    if (gets_all_blocks(problem.operation)) return {static_cast<int>(at / n), first + at % n};
    return {is_reduction(problem.operation) ? 0 : problem.root, first + at};
  }
  const std::vector<std::int64_t>& starts = plan_.program(call, problem.rank).starts();
  if (gets_own_block(problem.operation)) {
    return {problem.root, starts[problem.rank] + at};
  }
  const std::int64_t first = first_block(problem, schedule::Place::output);
  const std::int64_t element = starts[first] + at;
  const auto block = std::upper_bound(starts.begin(), starts.end(), element) - starts.begin() - 1;
  const auto from = static_cast<int>(block - first);
  std::int64_t origin = 0;
  if (is_uneven_alltoall(problem.operation)) origin = plan_.program(call, from).starts()[problem.rank];
  return {from, origin + element - starts[block]};
}

void CheckRun::check_result(int rank) {
  const RankState& state = ranks_[rank];
  const schedule::Problem problem = plan_.call(state.call).problem_of(rank);
  const Operation operation = problem.operation;
  const bool is_root = rank == problem.root;
  if (is_neighborhood(operation)) return check_neighbors_result(rank);
  if (!moves_data(operation) || (ends_at_root(operation) && !is_root)) return;
  if (is_scatter(operation) && problem.is_in_place) return;
  // How many ranks' contributions a reduction joins here, the first ones.
  const int joined = joined_ranks(operation, rank, problem.size);
  if (joined == 0) {
    const std::int32_t own = problem.is_in_place ? expressions_.leaf(state.call, rank) : -1;
    for (const Cell& cell : state.output) {
      if (cell.value != own) fail(plan_.call(state.call).title + ": rank 0's output is written to");
    }
    return;
  }

  const std::int32_t in_one_order = problem.is_reproducible && is_reduction(operation)
                                        ? expressions_.in_one_order(state.call, joined, is_scan(operation))
                                        : -1;
  auto& result = results_[state.call];
  const bool is_same_everywhere = operation == Operation::allreduce;
  if (is_same_everywhere && result.empty()) result = state.output;
  const auto elements = static_cast<std::int64_t>(state.output.size());
  for (std::int64_t i = 0; i < elements; ++i) {
    const Cell& cell = state.output[i];
    const auto [from, element] = wanted(problem, i);
    const auto& all_wanted = plan_.call(state.call).wanted;
    if (!all_wanted.empty() && !all_wanted[rank][from]) continue;
    std::int32_t expected = cell.value;
    if (!is_reduction(operation)) {
      expected = expressions_.leaf(state.call, from);
    } else if (!expressions_.is_run(cell.value, joined) || expressions_.call_of(cell.value) != state.call) {
      expected = -1;
    }
    if (in_one_order >= 0 && cell.value == expected && cell.value != in_one_order) {
      fail(plan_.call(state.call).title + ": rank " + std::to_string(rank) + " ends with element " +
           std::to_string(i) + " joined in another order than the reproducible one");
      return;
    }
    if (cell.value == expected && cell.element == element && expected >= 0) {
      if (!is_same_everywhere || cell == result[i]) continue;
      fail(plan_.call(state.call).title + ": rank " + std::to_string(rank) + " ends with element " +
           std::to_string(i) + " combined in another order than rank 0: the bits may differ");
      return;
    }
    fail(plan_.call(state.call).title + ": rank " + std::to_string(rank) + " ends with output element " +
         std::to_string(i) + " = element " + std::to_string(cell.element) + " of " +
         expressions_.describe(cell.value) + ", wanted " +
         (is_reduction(operation)
              ? (joined == problem.size ? std::string("all") : "the first " + std::to_string(joined)) +
                    " ranks' element " + std::to_string(element)
              : "element " + std::to_string(element) + " of " + expressions_.describe(expected)));
    return;
  }
}

// Nobody may still read a rank's buffers when its call returns: they are the program's again.
void CheckRun::check_remote_reads_done(int rank) {
  if (!plan_.has_remote()) return;
  const NodeMemory& memory = *node(rank).memory;
  const Clock& clock = node(rank).memory->clock(local_rank_of(rank), 0);
  for (const auto* marks : {&ranks_[rank].input_marks, &ranks_[rank].output_marks}) {
    for (const RankState::Mark& mark : *marks) {
      for (const NodeMemory::Touch& reader : mark.readers) {
        if (memory.has_happened(clock, reader.local_rank, reader.thread, reader.index)) continue;
        fail(plan_.call(ranks_[rank].call).title + ": rank " + std::to_string(rank) +
             " may return while local rank " + std::to_string(reader.local_rank) +
             " still reads its buffers");
        return;
      }
    }
  }
}

void CheckRun::check_barrier(int rank) {
  const RankState& state = ranks_[rank];
  if (moves_data(plan_.call(state.call).problem.operation)) return;
  for (int other = 0; other < plan_.ranks(); ++other) {
    if ((state.known[other / 64] >> (other % 64) & 1) != 0) continue;
    fail(plan_.call(state.call).title + ": rank " + std::to_string(rank) + " may leave before rank " +
         std::to_string(other) + " has come");
    return;
  }
}

}  // namespace unisono::proof
