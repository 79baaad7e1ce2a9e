// SPDX-License-Identifier: BSD-3-Clause
// The checker's node steps: flags, fused operations, exposures.
#include <algorithm>

#include "proof/check_run.h"
#include "schedule/describe.h"

namespace unisono::proof {
namespace {

// What local rank `from` gives to local rank `to`, in elements of what a fused step took from `from`.
schedule::ElementRange given_range(schedule::StepKind kind, std::int64_t length, int to, int local_size) {
  if (!has_block_for_each(kind)) return {0, length};
  return {to * length / local_size, (to + 1) * length / local_size};
}

bool is_source(const schedule::Step& step, int local_rank) {
  return step.kind != schedule::StepKind::node_barrier &&
         (!has_one_source(step.kind) || local_rank == step.peer);
}

bool is_sink(const schedule::Step& step, int local_rank) {
  if (step.kind == schedule::StepKind::node_bcast) return local_rank != step.peer;
  if (step.kind == schedule::StepKind::node_exscan) return local_rank != 0;
  return step.kind != schedule::StepKind::node_barrier &&
         (!has_one_sink(step.kind) || local_rank == step.peer);
}

bool is_one_operation(const schedule::Step& a, const schedule::Step& b) {
  return a.kind == b.kind && a.peer == b.peer && a.tick == b.tick && schedule::is_one_tree(a.along, b.along);
}

void merge(std::vector<std::uint64_t>* into, const std::uint64_t* from) {
  for (std::size_t word = 0; word < into->size(); ++word) (*into)[word] |= from[word];
}

}  // namespace

const ChannelUse& CheckRun::use_of(int instance) {
  return node(plan_.rank_of(instance)).uses[plan_.call_of(instance)][plan_.step_of(instance).stage];
}

void CheckRun::learn(int instance, const std::vector<std::uint64_t>& from) {
  for (std::size_t word = 0; word < std::min(words_, from.size()); ++word)
    known(instance)[word] |= from[word];
}

// The rank's thread takes over what the instance's predecessors have seen, and does its next step.
void CheckRun::begin_node_step(int instance) {
  const int rank = plan_.rank_of(instance);
  NodeMemory& memory = *node(rank).memory;
  const int thread = plan_.thread_of(instance);
  if (clocks_[instance]) NodeMemory::join(&memory.clock(local_rank_of(rank), thread), *clocks_[instance]);
  memory.step(local_rank_of(rank), thread);
  if (is_message(plan_.step_of(instance).step.kind)) {
    clocks_[instance] = std::make_unique<Clock>(memory.clock(local_rank_of(rank), thread));
  }
}

CheckRun::Progress CheckRun::run_node_step(int instance) {
  const schedule::Step& step = plan_.step_of(instance).step;
  const int rank = plan_.rank_of(instance);
  if (is_fused(step.kind)) return fused(instance);
  if (step.kind == schedule::StepKind::await || step.kind == schedule::StepKind::await_all ||
      step.kind == schedule::StepKind::await_space) {
    return await(instance);
  }
  begin_node_step(instance);
  if (step.kind == schedule::StepKind::copy) {
    copy(instance);
  } else if (step.kind == schedule::StepKind::reduce) {
    reduce(instance);
  } else if (step.kind == schedule::StepKind::signal) {
    const ChannelUse& use = use_of(instance);
    const std::int64_t ticks = plan_.piece_of(instance) * use.ticks + step.tick;
    set_flag(instance, rank, use, use.base_tick + static_cast<std::uint64_t>(ticks));
  } else {
    const std::string found = node(rank).memory->expose(use_of(instance), plan_.piece_of(instance),
                                                        local_rank_of(rank), plan_.call_of(instance));
    if (!found.empty()) fail(instance, found);
  }
  return Progress::done;
}

CheckRun::Progress CheckRun::await(int instance) {
  const schedule::Step& step = plan_.step_of(instance).step;
  const ChannelUse& use = use_of(instance);
  const int piece = plan_.piece_of(instance);
  NodeState& state = node(plan_.rank_of(instance));
  NodeMemory& memory = *state.memory;
  const std::uint64_t tick = step.kind == schedule::StepKind::await_space
                                 ? use.space_tick[piece]
                                 : use.base_tick + static_cast<std::uint64_t>(piece * use.ticks + step.tick);
  const int first = step.kind == schedule::StepKind::await ? step.peer : 0;
  const int last = step.kind == schedule::StepKind::await ? step.peer + 1 : memory.local_size();
  for (int other = first; other < last; ++other) {
    if (memory.flag(use.channel, other) >= tick) continue;
    state.waiting[use.channel * memory.local_size() + other].push_back(instance);
    return Progress::waits;
  }
  begin_node_step(instance);
  if (tick == 0) return Progress::done;
  Clock& clock = memory.clock(local_rank_of(plan_.rank_of(instance)), plan_.thread_of(instance));
  for (int other = first; other < last; ++other) {
    const NodeMemory::Signal& signal = memory.signal(use.channel, other, tick);
    NodeMemory::join(&clock, signal.clock);
    if (signal.call == plan_.call_of(instance)) learn(instance, signal.known);
  }
  return Progress::done;
}

// `instance`: the step that signals; -1 at the start of a call.
void CheckRun::set_flag(int instance, int rank, const ChannelUse& use, std::uint64_t tick) {
  NodeState& state = node(rank);
  NodeMemory& memory = *state.memory;
  const std::uint64_t value = memory.flag(use.channel, local_rank_of(rank));
  if (tick == value) return;
  if (tick < value) {
    fail(instance, "sets its flag back from " + std::to_string(value - use.base_tick) + " to " +
                       std::to_string(tick - use.base_tick));
    return;
  }
  NodeMemory::Signal signal{tick, ranks_[rank].call, memory.clock(local_rank_of(rank), use.channel), {}};
  if (words_ != 0) {
    signal.known.assign(words_, 0);
    signal.known[rank / 64] |= std::uint64_t{1} << (rank % 64);
    if (instance >= 0) merge(&signal.known, known(instance));
  }
  memory.set_flag(use.channel, local_rank_of(rank), signal);
  auto& waiting = state.waiting[use.channel * memory.local_size() + local_rank_of(rank)];
  for (const std::int32_t other : waiting) push(2 * other);
  waiting.clear();
}

// The elements that one rank gives, or gets where it gives to all alike: the same on all local ranks.
std::int64_t CheckRun::fused_length(int instance) const {
  const schedule::Step& step = plan_.step_of(instance).step;
  const schedule::Ref& one = step.kind == schedule::StepKind::node_scatter ? step.into : step.left;
  return plan_.program_of(instance).range(plan_.local(instance), one).length();
}

CheckRun::Progress CheckRun::fused(int instance) {
  const int rank = plan_.rank_of(instance);
  NodeState& state = node(rank);
  RankState& own = ranks_[rank];
  const auto number = static_cast<std::size_t>(own.fused);
  if (state.fused.size() <= number) state.fused.resize(number + 1);
  FusedOperation& operation = state.fused[number];
  const int local_rank = local_rank_of(rank);
  const bool is_new = operation.clocks.empty() || operation.clocks[local_rank].empty();
  if (is_new) arrive(instance, &operation);
  if (!may_go_on(operation, local_rank)) {
    operation.waiting.push_back(instance);
    own.is_blocked = true;
    return Progress::waits;
  }
  own.is_blocked = false;
  for (const std::int32_t event : own.held_back) push(event);
  own.held_back.clear();
  leave(instance, &operation);
  ++own.fused;
  return Progress::done;
}

void CheckRun::arrive(int instance, FusedOperation* operation) {
  const schedule::Step& step = plan_.step_of(instance).step;
  const int rank = plan_.rank_of(instance);
  const int local_rank = local_rank_of(rank);
  const NodeMemory& memory = *node(rank).memory;
  const std::int64_t length = fused_length(instance);
  if (operation->arrived == 0) {
    operation->step = step;
    operation->length = length;
    operation->data.resize(memory.local_size());
    operation->clocks.resize(memory.local_size());
    operation->known.resize(memory.local_size());
  } else if (!is_one_operation(operation->step, step) || operation->length != length) {
    fail(instance, "another rank of the node is at a different fused operation, " +
                       std::string(name(operation->step.kind)) + " of " + std::to_string(operation->length) +
                       " elements");
  }
  ++operation->arrived;
  begin_node_step(instance);
  operation->clocks[local_rank] = node(rank).memory->clock(local_rank, plan_.thread_of(instance));
  if (words_ != 0) operation->known[local_rank].assign(known(instance), known(instance) + words_);
  if (is_source(step, local_rank)) {
    const Span from = operand(instance, step.left, false);
    if (check_defined(instance, from)) {
      operation->data[local_rank].assign(from.data, from.data + from.length);
    }
  }
  for (const std::int32_t other : operation->waiting) push(2 * other);
  operation->waiting.clear();
}

bool CheckRun::may_go_on(const FusedOperation& operation, int local_rank) const {
  const int local_size = static_cast<int>(operation.clocks.size());
  if (policy_.is_stern || operation.arrived == local_size) return operation.arrived == local_size;
  for (int other = 0; other < local_size; ++other) {
    if (is_heard(operation.step, other, local_rank) && operation.clocks[other].empty()) return false;
  }
  return true;
}

void CheckRun::leave(int instance, FusedOperation* operation) {
  const schedule::Step& step = plan_.step_of(instance).step;
  const int rank = plan_.rank_of(instance);
  const int local_rank = local_rank_of(rank);
  Clock& clock = node(rank).memory->clock(local_rank, plan_.thread_of(instance));
  for (int other = 0; other < static_cast<int>(operation->clocks.size()); ++other) {
    if (!is_heard(step, other, local_rank) || operation->clocks[other].empty()) continue;
    NodeMemory::join(&clock, operation->clocks[other]);
    learn(instance, operation->known[other]);
  }
  if (is_sink(step, local_rank) && failures_.empty()) take_fused(instance, *operation);
}

// What this local rank has and those below it have, in the order of the tree.
std::vector<Cell> CheckRun::joined_below(int instance, const FusedOperation& operation, int local_rank) {
  std::vector<Cell> joined = operation.data[local_rank];
  for (const int child : operation.step.along->children[local_rank]) {
    const std::vector<Cell> more = joined_below(instance, operation, child);
    for (std::size_t i = 0; i < joined.size(); ++i) joined[i] = combine(instance, joined[i], more[i]);
  }
  return joined;
}

void CheckRun::take_fused(int instance, const FusedOperation& operation) {
  const schedule::Step& step = plan_.step_of(instance).step;
  // A scatter in place leaves the root's own block where it is.
  if (step.kind == schedule::StepKind::node_scatter && step.into.place == schedule::Place::input) return;
  const int local_rank = local_rank_of(plan_.rank_of(instance));
  const auto& data = operation.data;
  const int local_size = static_cast<int>(data.size());
  // Uneven blocks keep their numbers: where the own one stands among all.
  const LoadedProgram& program = plan_.program_of(instance);
  const bool is_part_of_uneven =
      step.kind == schedule::StepKind::node_reduce_scatter && !program.starts().empty();
  const schedule::ElementRange part_of_all =
      is_part_of_uneven ? program.range(plan_.local(instance), step.into.in(schedule::Place::input))
                        : schedule::ElementRange{};
  std::vector<Cell> taken;
  const bool is_joined_along = step.along != nullptr && is_fused_reduction(step.kind);
  if (is_joined_along) taken = joined_below(instance, operation, step.along->root);
  for (int from = 0; from < local_size && !is_joined_along; ++from) {
    if (!is_source(step, from) || !is_heard(step, from, local_rank)) continue;
    if (step.kind == schedule::StepKind::node_exscan && from == local_rank) continue;
    const schedule::ElementRange given =
        is_part_of_uneven
            ? part_of_all
            : given_range(step.kind, static_cast<std::int64_t>(data[from].size()), local_rank, local_size);
    if (!is_fused_reduction(step.kind) || taken.empty()) {
      taken.insert(taken.end(), data[from].begin() + given.first, data[from].begin() + given.last);
      continue;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      taken[i] = combine(instance, taken[i], data[from][static_cast<std::size_t>(given.first) + i]);
    }
  }
  const Span into = operand(instance, step.into, true);
  if (into.data == nullptr) return;
  if (into.length != static_cast<std::int64_t>(taken.size())) {
    fail(instance, "takes " + std::to_string(into.length) + " elements of " + std::to_string(taken.size()));
    return;
  }
  std::copy(taken.begin(), taken.end(), into.data);
}

}  // namespace unisono::proof
