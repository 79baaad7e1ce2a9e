// SPDX-License-Identifier: BSD-3-Clause
// The steps of a node in virtual time: copies, reductions, flags, fused operations.
#include <algorithm>

#include "model/virtual_run.h"
#include "shm/slice/line_shape.h"

namespace unisono::model {

using schedule::StepKind;

// As the fused operations lay messages out: short ones in lines that carry their flags, longer ones beside a
// flag.
double VirtualRun::line_time(std::int64_t bytes, const Curve& copied) const {
  const SharedMemory& shared = machine_.shared;
  const auto length = static_cast<std::size_t>(bytes);
  if (!shm::is_in_lines(length)) return shared.line_us + copied.at(bytes);
  return static_cast<double>(std::max<std::size_t>(1, shm::lines_of(length))) * shared.line_us;
}

double VirtualRun::far_line_us(const Distance* far) const {
  return far == nullptr ? 0.0 : std::max(0.0, far->line_us - machine_.shared.line_us);
}

double VirtualRun::fetch_time(int index, int from, std::int64_t bytes) const {
  const SharedMemory& shared = machine_.shared;
  const Distance* const far = distance(index, from).distance;
  const double near_us = line_time(bytes, shared.get_us);
  if (far == nullptr) return near_us;
  const auto length = static_cast<std::size_t>(bytes);
  const bool is_flagged = shm::is_in_lines(length);
  const auto lines = static_cast<double>(is_flagged ? std::max<std::size_t>(1, shm::lines_of(length)) : 1);
  const double fetched = is_flagged ? 0 : far->us_per_byte * static_cast<double>(bytes);
  return near_us + lines * far_line_us(far) + fetched;
}

namespace {

// What a machine says of a border, or of the nearest kind that it names. Where two kinds are one it names the
// outer one. In others of an outer kind than it names, ranks are in others of those inside too. Of a level
// inside others no outer kind is meant: that one is theirs.
const Distance* distance_across(patterns::DomainKind kind, bool is_outermost,
                                const std::vector<Distance>& known) {
  const auto order = [kind](const Distance& distance) {
    const int steps = static_cast<int>(distance.across) - static_cast<int>(kind);
    return steps > 0 ? static_cast<int>(patterns::DomainKind::cache) + steps : -steps;
  };
  const Distance* best = nullptr;
  for (const Distance& distance : known) {
    if (distance.across < kind && !is_outermost) continue;
    if (best == nullptr || order(distance) < order(*best)) best = &distance;
  }
  return best;
}

}  // namespace

VirtualRun::Far VirtualRun::distance(int index, int other) const {
  if (layout_->domains == nullptr || machine_.shared.distances.empty()) return {};
  const auto at = static_cast<std::size_t>(index);
  const auto& locals = crew_.indices_of[static_cast<std::size_t>(crew_.node_of[at])];
  const int own = crew_.ranks[at];
  const int from = crew_.ranks[static_cast<std::size_t>(locals[static_cast<std::size_t>(other)])];
  for (int i = 0; i < layout_->domains->depth(); ++i) {
    const patterns::DomainLevel& level = layout_->domains->levels[static_cast<std::size_t>(i)];
    if (level.domain_of[own] == level.domain_of[from]) continue;
    return {distance_across(level.kind, i == 0, machine_.shared.distances), i, level.domain_of[own]};
  }
  return {};
}

// What the looks at the flags take that a step has waited for.
double VirtualRun::flags_time(int index, const LiveStep& step) const {
  const SharedMemory& shared = machine_.shared;
  const bool is_one = step.kind == StepKind::await;
  double us = 0;
  for (int other = is_one ? step.peer : 0; other < (is_one ? step.peer + 1 : locals_of(index)); ++other) {
    const Distance* const far = distance(index, other).distance;
    us += shared.await_us + far_line_us(far);
  }
  return us;
}

void VirtualRun::Channel::find_least() {
  if (!flags.empty()) least = *std::min_element(flags.begin(), flags.end());
}

VirtualRun::Far VirtualRun::distance(int index, const LiveStep& step, std::size_t operand) const {
  const std::int32_t from = step.fetched_from[operand];
  const int writer = from == LiveStep::awaited ? ranks_[static_cast<std::size_t>(index)].awaited : from;
  return writer < 0 ? Far() : distance(index, writer);
}

double VirtualRun::moving_us(int index, const LiveStep& step, std::int64_t bytes) const {
  double far_us = 0;
  for (std::size_t operand = 0; operand < step.fetched_from.size(); ++operand) {
    const Distance* const far = distance(index, step, operand).distance;
    if (far != nullptr) far_us += far->us_per_byte * static_cast<double>(bytes);
  }
  return far_us + near_us(index, step, bytes);
}

// What crosses into a domain shares the way there with all that does.
double VirtualRun::arrived_us(int index, const LiveStep& step, std::int64_t bytes, double begins) {
  double arrived = begins;
  for (std::size_t operand = 0; operand < step.fetched_from.size(); ++operand) {
    const auto [far, level, domain] = distance(index, step, operand);
    if (far == nullptr || far->shared_us_per_byte <= 0) continue;
    double& free_us = node_of(index).ways_us[{level, domain}];
    free_us = std::max(free_us, begins) + far->shared_us_per_byte * static_cast<double>(bytes);
    arrived = std::max(arrived, free_us);
  }
  return arrived;
}

double VirtualRun::near_us(int index, const LiveStep& step, std::int64_t bytes) const {
  const SharedMemory& shared = machine_.shared;
  const double copy_us = shared.copy_us.at(bytes);
  if (step.kind == StepKind::reduce && is_on_agent(index)) return machine_.agent->combine_us.at(bytes);
  if (step.kind == StepKind::reduce) {
    // Operands that others have written come more slowly.
    const double fetch_us = std::max(0.0, shared.get_us.at(bytes) - copy_us);
    const double remote_us = step.is_remote_read ? shared.single_copy_us.at(bytes) : 0;
    return shared.combine_us.at(bytes) + step.shared_reads * fetch_us + remote_us;
  }
  if (step.is_remote_read) return shared.single_copy_us.at(bytes);
  if (step.is_shared_write) return shared.put_us.at(bytes);
  return step.shared_reads > 0 ? shared.get_us.at(bytes) : copy_us;
}

void VirtualRun::move_data(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  const std::int64_t bytes = size_.bytes_of(step.elements_of(piece));
  if (bytes == 0) return finish_at_once(index, number, piece, us);
  const double cost = moving_us(index, step, bytes);
  const auto [begins, ends] = take_core(index, us, cost);
  NodeState& node = node_of(index);
  node.memory_us =
      std::max(node.memory_us, begins) + machine_.shared.memory_us_per_byte * static_cast<double>(bytes);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  rank.core_free_us = std::max({rank.core_free_us, node.memory_us, arrived_us(index, step, bytes, begins)});
  hold_core(index, rank.core_free_us);
  if (options_.recorder != nullptr)
    record_work(index, number, step_us(index) + cost + (rank.core_free_us - ends));
  // Section 4.5: the node's messages under way get their data later, by up to what the copy takes.
  const double penalty = std::min(cost, machine_.overlap_penalty_us.at(bytes));
  if (node.card_out_us > begins) node.card_out_us += penalty;
  if (node.card_in_us > begins) node.card_in_us += penalty;
  push_finish(index, number, piece, rank.core_free_us);
}

void VirtualRun::signal(int index, std::int32_t number, std::int32_t piece, double us) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  const LiveStep& step = steps.at(number);
  const double cost = machine_.shared.signal_us;
  const double done = take_core(index, us, cost).ends;
  push_finish(index, number, piece, done);
  if (options_.recorder != nullptr) record_work(index, number, step_us(index) + cost);
  if (step.kind == StepKind::expose) return;
  const StageUse& use = steps.use(step.stage);
  if (options_.recorder != nullptr) record_flag(index, number, use.channel, use.tick_of(piece, step.tick));
  push({.us = done + machine_.shared.flag_us,
        .kind = EventKind::flag,
        .index = index,
        .piece = use.channel,
        .step = static_cast<std::int32_t>(use.tick_of(piece, step.tick))});
}

void VirtualRun::raise_flag(int index, std::int32_t number, std::int64_t tick) {
  Channel& channel = node_of(index).channels[static_cast<std::size_t>(number)];
  std::int64_t& flag = channel.flags[static_cast<std::size_t>(crew_.local_rank_of[index])];
  const bool was_least = flag == channel.least;
  flag = tick;
  if (was_least) channel.find_least();
  for (std::size_t i = 0; i < channel.waiting.size();) {
    const Await await = channel.waiting[i];
    if (!channel.has_reached(await.local_rank, await.tick)) {
      ++i;
      continue;
    }
    channel.waiting[i] = channel.waiting.back();
    channel.waiting.pop_back();
    give(await.index, {.kind = Task::Kind::end_await, .step = await.step, .piece = await.piece}, now_);
  }
}

void VirtualRun::await(int index, std::int32_t number, std::int32_t piece, double us) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  const LiveStep& step = steps.at(number);
  const StageUse& use = steps.use(step.stage);
  const bool is_space = step.kind == StepKind::await_space;
  const Await await{.index = index,
                    .step = number,
                    .piece = piece,
                    .tick = is_space ? use.space_tick(piece) : use.tick_of(piece, step.tick),
                    .local_rank = step.kind == StepKind::await ? step.peer : -1};
  Channel& channel = node_of(index).channels[static_cast<std::size_t>(use.channel)];
  if (channel.has_reached(await.local_rank, await.tick)) {
    end_await(index, number, piece, us);
  } else {
    channel.waiting.push_back(await);
  }
}

void VirtualRun::end_await(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (step.kind == StepKind::await) ranks_[static_cast<std::size_t>(index)].awaited = step.peer;
  const double cost = flags_time(index, step);
  push_finish(index, number, piece, take_core(index, us, cost).ends);
  if (options_.recorder == nullptr) return;
  record_await(index, number, piece);
  record_work(index, number, step_us(index) + cost);
}

void VirtualRun::record_flag(int index, std::int32_t number, std::int32_t channel, std::int64_t tick) {
  const auto at = static_cast<std::size_t>(index);
  const TimeRef done = options_.recorder->finished(index, number);
  options_.recorder->raise(crew_.node_of[at], channel, crew_.local_rank_of[at], tick,
                           {done.work, done.after_us + machine_.shared.flag_us});
}

void VirtualRun::record_await(int index, std::int32_t number, std::int32_t piece) {
  const LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  const LiveStep& step = steps.at(number);
  const StageUse& use = steps.use(step.stage);
  const std::int64_t tick =
      step.kind == StepKind::await_space ? use.space_tick(piece) : use.tick_of(piece, step.tick);
  const int node = crew_.node_of[static_cast<std::size_t>(index)];
  for (int other = 0; other < locals_of(index); ++other) {
    if (step.kind == StepKind::await && other != step.peer) continue;
    options_.recorder->wait_for(index, number, options_.recorder->raised(node, use.channel, other, tick));
  }
}

namespace {

// What a local rank reads in a fused step, of how many others.
int sources_of(StepKind kind, std::int32_t peer, int local_rank, int local_size) {
  int sources = 0;
  for (int other = 0; other < local_size; ++other) {
    if (other != local_rank && is_heard(kind, peer, other, local_rank)) ++sources;
  }
  return sources;
}

}  // namespace

bool VirtualRun::has_heard(const Fused& fused, const LiveStep& step, int index) const {
  if (step.along != nullptr) return has_heard_along(fused, step, index);
  const auto has_come = [&](std::int32_t local_rank) {
    return fused.has_come.size() > static_cast<std::size_t>(local_rank) &&
           fused.has_come[static_cast<std::size_t>(local_rank)];
  };
  const std::int32_t local_rank = crew_.local_rank_of[static_cast<std::size_t>(index)];
  if (has_one_source(step.kind)) return has_come(step.peer);
  const bool is_of_those_before = !has_one_sink(step.kind) && !is_heard(step.kind, step.peer, 1, 0);
  if (is_of_those_before) return fused.first_missing >= local_rank;
  return fused.arrived - (has_come(local_rank) ? 1 : 0) == locals_of(index) - 1;
}

// What the rank has to say it writes at once; then it waits for those that it needs.
void VirtualRun::start_fused(int index, std::int32_t number, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (step.along != nullptr) return start_along(index, number, us);
  const std::int64_t bytes = step.kind == StepKind::node_barrier ? 0 : size_.bytes_of(step.elements_of(0));
  const bool is_at_peer = crew_.local_rank_of[static_cast<std::size_t>(index)] == step.peer;
  const int local_rank = crew_.local_rank_of[static_cast<std::size_t>(index)];
  const bool is_writing = has_one_source(step.kind) ? is_at_peer : !(has_one_sink(step.kind) && is_at_peer);
  const bool is_for_all = step.kind == StepKind::node_scatter;
  const std::int64_t written = is_for_all ? bytes * locals_of(index) : bytes;
  const SharedMemory& shared = machine_.shared;
  const double cost = shared.fused_us + (is_writing ? line_time(written, shared.put_us) : 0.0);
  const double done = take_core_alone(index, us, cost).ends;

  const std::int32_t operation = ranks_[static_cast<std::size_t>(index)].fused++;
  if (options_.recorder != nullptr) record_work(index, number, cost);
  Fused& fused = fused_of(index, operation);
  write_fused(index, number, operation, local_rank, done);
  if (sources_of(step.kind, step.peer, local_rank, locals_of(index)) == 0)
    return push_finish(index, number, 0, done);
  if (has_heard(fused, step, index)) {
    read_fused(index, number, operation, done);
  } else {
    fused.waiting.push_back({index, number});
  }
}

VirtualRun::Fused& VirtualRun::fused_of(int index, std::int32_t operation) {
  std::vector<Fused>& all = node_of(index).fused;
  const auto at = static_cast<std::size_t>(operation);
  if (all.size() <= at) all.resize(at + 1);
  return all[at];
}

// What a rank has written is seen by others, after a while: by its number of what is written in the
// operation.
void VirtualRun::write_fused(int index, std::int32_t number, std::int32_t operation, std::int32_t writing,
                             double us) {
  const double flag_us = machine_.shared.flag_us;
  push({.us = us + flag_us, .kind = EventKind::fused, .index = index, .piece = operation, .step = writing});
  if (options_.recorder == nullptr) return;
  const TimeRef done = options_.recorder->finished(index, number);
  options_.recorder->enter_fused(crew_.node_of[static_cast<std::size_t>(index)], operation, writing,
                                 {done.work, done.after_us + flag_us});
}

void VirtualRun::enter_fused(int index, std::int32_t operation, std::int32_t local_rank) {
  Fused& fused = node_of(index).fused[static_cast<std::size_t>(operation)];
  const std::int32_t locals = locals_of(index);
  ++fused.arrived;
  fused.has_come.resize(2 * static_cast<std::size_t>(locals));
  fused.has_come[static_cast<std::size_t>(local_rank)] = true;
  while (fused.first_missing < locals && fused.has_come[static_cast<std::size_t>(fused.first_missing)])
    ++fused.first_missing;
  for (std::size_t i = 0; i < fused.waiting.size();) {
    const auto [other, number] = fused.waiting[i];
    const LiveStep& step = steps_[static_cast<std::size_t>(other)].at(number);
    if (!has_heard(fused, step, other)) {
      ++i;
      continue;
    }
    fused.waiting[i] = fused.waiting.back();
    fused.waiting.pop_back();
    give(other, {.kind = Task::Kind::read_fused, .step = number, .piece = operation}, now_);
  }
}

void VirtualRun::read_fused(int index, std::int32_t number, std::int32_t operation, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (step.along != nullptr) return go_along(index, number, operation, us);
  const std::int64_t bytes = step.kind == StepKind::node_barrier ? 0 : size_.bytes_of(step.elements_of(0));
  const bool is_in_blocks =
      step.kind == StepKind::node_alltoall || step.kind == StepKind::node_reduce_scatter;
  const std::int64_t own = is_in_blocks ? bytes / locals_of(index) : bytes;
  const int local_rank = crew_.local_rank_of[static_cast<std::size_t>(index)];
  double cost = 0;
  for (int other = 0; other < locals_of(index); ++other) {
    if (other == local_rank || !is_heard(step.kind, step.peer, other, local_rank)) continue;
    cost += fetch_time(index, other, own);
    if (is_fused_reduction(step.kind)) cost += machine_.shared.combine_us.at(own);
  }
  push_finish(index, number, 0, take_core_alone(index, us, cost).ends);
  if (options_.recorder == nullptr) return;
  const int node = crew_.node_of[static_cast<std::size_t>(index)];
  for (int other = 0; other < locals_of(index); ++other) {
    if (other == local_rank || !is_heard(step.kind, step.peer, other, local_rank)) continue;
    options_.recorder->wait_for(index, number, options_.recorder->entered(node, operation, other));
  }
  record_work(index, number, cost);
}

}  // namespace unisono::model
