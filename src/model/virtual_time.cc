// SPDX-License-Identifier: BSD-3-Clause
#include "model/virtual_time.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/virtual_run.h"

namespace unisono::model {

using schedule::StepKind;

Crew everyone(std::shared_ptr<const patterns::Layout> layout) {
  Crew crew;
  crew.ranks.resize(static_cast<std::size_t>(layout->size()));
  std::iota(crew.ranks.begin(), crew.ranks.end(), 0);
  crew.index_of = [](int rank) { return rank; };
  crew.indices_of = layout->ranks_of;
  crew.node_of = layout->node_of;
  crew.local_rank_of = layout->local_rank_of;
  crew.is_apart = [layout](int a, int b) { return layout->node_of[a] != layout->node_of[b]; };
  return crew;
}

namespace {

void repeat(schedule::Program* program, int calls) {
  const std::vector<schedule::Stage> once = program->stages;
  for (int call = 1; call < calls; ++call) {
    program->stages.insert(program->stages.end(), once.begin(), once.end());
  }
}

}  // namespace

VirtualRun::VirtualRun(const schedule::Problem& problem, const BuildProgram& build, const CallSize& size,
                       const Machine& machine, const Crew& crew, const RunOptions& options)
    : size_(size), machine_(machine), crew_(crew), options_(options) {
  const std::size_t count = crew.ranks.size();
  ranks_.resize(count);
  steps_.reserve(count);
  nodes_.resize(crew.indices_of.size());
  for (std::size_t index = 0; index < count; ++index) {
    schedule::Problem own = problem;
    own.rank = crew.ranks[index];
    const int locals =
        static_cast<int>(crew.indices_of[static_cast<std::size_t>(crew.node_of[index])].size());
    schedule::Program program = build(own);
    const auto stages_of_call = static_cast<int>(program.stages.size());
    repeat(&program, options.calls);
    steps_.push_back(options.is_compiled
                         ? LiveSteps::compiled(own, program, size, locals)
                         : LiveSteps(own, std::move(program), size, locals, options.most_waiting,
                                     crew.is_for_others ? &crew.index_of : nullptr));
    steps_.back().set_stages_of_call(stages_of_call);
    set_up_flags(static_cast<int>(index));
  }
  set_up_cores();
}

// A rank without node steps in a stage stands at its end from the start.
void VirtualRun::set_up_flags(int index) {
  const LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  NodeState& node = node_of(index);
  const auto locals = crew_.indices_of[static_cast<std::size_t>(crew_.node_of[index])].size();
  if (node.channels.size() < static_cast<std::size_t>(steps.channels())) {
    node.channels.resize(static_cast<std::size_t>(steps.channels()));
  }
  for (const StageUse& use : steps.uses()) {
    if (use.channel < 0) continue;
    Channel& channel = node.channels[static_cast<std::size_t>(use.channel)];
    channel.flags.resize(locals, 0);
    if (!use.has_node_steps) {
      channel.flags[static_cast<std::size_t>(crew_.local_rank_of[index])] = use.tick_of(use.pieces, 0);
    }
  }
}

Outcome VirtualRun::run() {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (Channel& channel : nodes_[node].channels) channel.find_least();
  }
  for (std::size_t index = 0; index < ranks_.size(); ++index) load(static_cast<int>(index), 0);
  while (!events_.empty() && run_.problem.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.us;
    handle(event);
  }
  if (run_.problem.empty() && finished_ < std::ssize(ranks_)) {
    run_.problem = "comes to no end: its steps wait for each other";
  }
  return std::move(run_);
}

void VirtualRun::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::finish:
      finish(event.index, event.step, event.piece);
      break;
    case EventKind::reach:
      reach(event.step);
      break;
    case EventKind::arrive:
      arrive(event.step);
      break;
    case EventKind::flag:
      raise_flag(event.index, event.piece, event.step);
      break;
    case EventKind::fused:
      enter_fused(event.index, event.piece, event.step);
      break;
    case EventKind::turn:
      turn(event.index);
      break;
  }
}

void VirtualRun::load(int index, double us) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  const std::int64_t before = steps.waiting();
  const std::int32_t first = steps.load();
  held_ += steps.waiting() - before;
  run_.most_waiting = std::max(run_.most_waiting, held_);
  for (std::int32_t number = options_.is_compiled && us == 0 ? steps.begin() : first; number < steps.end();
       ++number) {
    consider(index, number, us);
  }
  if (!ranks_[static_cast<std::size_t>(index)].is_finished && steps.is_over()) {
    ranks_[static_cast<std::size_t>(index)].is_finished = true;
    ++finished_;
  }
}

// Starts what may be started of a step: of messages as many pieces as the window takes, else one at a time;
// after each, what waits for its start. (Those may be a hundred thousand, each waiting for the one before.)
void VirtualRun::consider(int index, std::int32_t first, double us) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  considered_.push_back({.number = first});
  while (!considered_.empty()) {
    auto& [number, next] = considered_.back();
    if (number < steps.begin()) {
      considered_.pop_back();
      continue;
    }
    LiveStep& step = steps.at(number);
    if (next < step.waited_by.size()) {
      const std::int32_t waiting = step.waited_by[next++];
      if (has_start_wait(steps, waiting, number)) considered_.push_back({.number = waiting});
      continue;
    }
    const int window = is_message(step.kind) ? steps.use(step.stage).window : 1;
    if (step.started < step.pieces && step.started - step.done < window &&
        steps.may_start(step, step.started)) {
      next = 0;
      give(index, {.kind = Task::Kind::start, .step = number, .piece = step.started++}, us);
    } else {
      considered_.pop_back();
    }
  }
}

bool VirtualRun::has_start_wait(const LiveSteps& steps, std::int32_t number, std::int32_t other) const {
  if (number < steps.begin()) return false;
  for (const schedule::Predecessor& wait : steps.at(number).waits_for) {
    if (wait.step == other && is_start(wait.how)) return true;
  }
  return false;
}

void VirtualRun::finish(int index, std::int32_t number, std::int32_t piece) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  if (++run_.pieces > options_.most_pieces) {
    run_.problem = "takes more than " + std::to_string(options_.most_pieces) + " steps";
  }
  if (options_.progress && run_.pieces % pieces_per_progress == 0) options_.progress(run_.pieces);
  run_.us = now_;
  const std::int64_t before = steps.waiting();
  const bool is_done = steps.complete(number, piece);
  held_ += steps.waiting() - before;
  consider(index, number, now_);
  // The list may grow while it is gone through, its step may not go away: nothing is loaded meanwhile.
  const auto& next = steps.at(number).waited_by;
  for (std::size_t i = 0; i < next.size(); ++i) consider(index, next[i], now_);
  if (is_done) load(index, now_);
}

// A core: of the rank alone, or the one whose turn it has.
double VirtualRun::take_core_alone(int index, double us, double work_us) {
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  double start = std::max(us, rank.core_free_us);
  Core* core = work_us > 0 ? core_of(index) : nullptr;
  if (core != nullptr) start = std::max(start, core->free_us);
  rank.core_free_us = start + work_us;
  if (core != nullptr) core->free_us = rank.core_free_us;
  return start;
}

void VirtualRun::give(int index, const Task& task, double us) {
  if (Core* core = core_of(index)) {
    keep(index, core, task);
  } else {
    run(index, task, us);
  }
}

void VirtualRun::run(int index, const Task& task, double us) {
  switch (task.kind) {
    case Task::Kind::start:
      return start(index, task.step, task.piece, us);
    case Task::Kind::take_in:
      return take_in(index, task.step, task.piece, us, task.message);
    case Task::Kind::end_await:
      return end_await(index, task.step, task.piece, us);
    case Task::Kind::read_fused:
      return read_fused(index, task.step, us);
  }
}

void VirtualRun::start(int index, std::int32_t number, std::int32_t piece, double us) {
  LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  const std::int32_t call = steps_[static_cast<std::size_t>(index)].call_of(step);
  if (rank.calls_begun <= call) {
    // A call that is one fused step goes a shorter way, which its own cost contains.
    rank.calls_begun = call + 1;
    if (!is_fused(step.kind)) rank.core_free_us += machine_.call_us;
  }
  switch (step.kind) {
    case StepKind::send:
      send(index, number, piece, us);
      return;
    case StepKind::recv:
      receive(index, number, piece, us);
      return;
    case StepKind::copy:
    case StepKind::reduce:
      move_data(index, number, piece, us);
      return;
    case StepKind::signal:
    case StepKind::expose:
      signal(index, number, piece, us);
      return;
    case StepKind::await:
    case StepKind::await_all:
    case StepKind::await_space:
      await(index, number, piece, us);
      return;
    default:
      start_fused(index, number, us);
  }
}

void VirtualRun::push_finish(int index, std::int32_t number, std::int32_t piece, double us) {
  push({.us = us, .kind = EventKind::finish, .index = index, .piece = piece, .step = number});
}

// --- Messages ---

bool VirtualRun::is_empty_message(const LiveStep& step, std::int64_t elements) {
  return elements == 0 && !step.is_token;
}

const MessageCost& VirtualRun::message_cost(bool is_apart, std::int64_t bytes) {
  KnownCost& known = known_costs_[(static_cast<std::size_t>(bytes) * 2 + (is_apart ? 1 : 0)) % known_costs];
  if (known.bytes != bytes || known.is_apart != is_apart) {
    known = {bytes, is_apart, machine_.link(is_apart).message(options_.model, bytes)};
  }
  return known.cost;
}

double VirtualRun::fresh_us(const LiveStep& step, bool is_apart, std::int64_t bytes) const {
  if (!step.is_fresh || is_apart || options_.model != MessageModel::plogp) return 0;
  return machine_.fresh_message_us.empty() ? 0.0 : machine_.fresh_message_us.at(bytes);
}

void VirtualRun::send(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  const std::int64_t elements = step.is_token ? 0 : step.elements_of(piece);
  if (is_empty_message(step, elements)) return push_finish(index, number, piece, us);
  const int from = crew_.ranks[static_cast<std::size_t>(index)];
  const bool is_apart = crew_.is_apart(from, step.peer);
  const std::int64_t bytes = size_.bytes_of(elements);
  const MessageCost& cost = message_cost(is_apart, bytes);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  NodeState& node = node_of(index);
  const double called = take_core(index, us, cost.send_us);
  double leaves = std::max(called, rank.out_free_us);
  if (is_apart) {
    leaves = std::max(leaves, node.card_out_us);
    node.card_out_us = leaves + machine_.card.occupancy_us(bytes);
  }
  rank.out_free_us = leaves + cost.occupancy_us;
  push_finish(index, number, piece, std::max(called + cost.send_us, rank.out_free_us));

  const int to = crew_.index_of(step.peer);
  const std::int32_t message = new_message({.key = {index, to, step.stage, step.round, step.ordinal, piece},
                                            .bytes = bytes,
                                            .leaves_us = leaves,
                                            .is_apart = is_apart,
                                            .fresh_us = fresh_us(step, is_apart, bytes)});
  const double reaches = leaves + std::max(0.0, cost.transit_us - cost.occupancy_us);
  push({.us = reaches, .kind = EventKind::reach, .step = message});
}

// The first byte is there: the receiver's port takes the message when it is free.
void VirtualRun::reach(std::int32_t number) {
  const Message& message = messages_[static_cast<std::size_t>(number)];
  const int index = message.key.to;
  const MessageCost& cost = message_cost(message.is_apart, message.bytes);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  NodeState& node = node_of(index);
  double begins = std::max(now_, rank.in_free_us);
  if (message.is_apart) {
    begins = std::max(begins, node.card_in_us);
    node.card_in_us = begins + machine_.card.occupancy_us(message.bytes);
  }
  rank.in_free_us = begins + cost.occupancy_us + message.fresh_us;
  double arrives = message.leaves_us + cost.transit_us + (begins - now_);
  if (!message.is_apart) {
    node.memory_us = std::max(node.memory_us, now_) +
                     machine_.shared.memory_us_per_byte * static_cast<double>(message.bytes);
    arrives = std::max(arrives, node.memory_us);
  }
  push({.us = arrives, .kind = EventKind::arrive, .step = number});
}

void VirtualRun::arrive(std::int32_t number) {
  const Message& message = messages_[static_cast<std::size_t>(number)];
  const auto [found, is_first] = meetings_.try_emplace(message.key, number);
  if (is_first) return;  // the receive comes later
  const std::int32_t recv = found->second;
  meetings_.erase(found);
  --ranks_[static_cast<std::size_t>(message.key.to)].receives;
  give(message.key.to,
       {.kind = Task::Kind::take_in, .step = recv, .piece = message.key.piece, .message = number}, now_);
}

void VirtualRun::receive(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (is_empty_message(step, step.is_token ? 0 : step.elements_of(piece))) {
    return push_finish(index, number, piece, us);
  }
  const MessageKey key{crew_.index_of(step.peer), index, step.stage, step.round, step.ordinal, piece};
  const auto [found, is_first] = meetings_.try_emplace(key, number);
  if (is_first) {  // the message comes later
    ++ranks_[static_cast<std::size_t>(index)].receives;
    return;
  }
  const std::int32_t message = found->second;
  meetings_.erase(found);
  take_in(index, number, piece, us, message);
}

void VirtualRun::take_in(int index, std::int32_t recv, std::int32_t piece, double us, std::int32_t message) {
  const Message& taken = messages_[static_cast<std::size_t>(message)];
  const double receive_us = message_cost(taken.is_apart, taken.bytes).receive_us + taken.fresh_us;
  push_finish(index, recv, piece, take_core(index, us, receive_us) + receive_us);
  free_messages_.push_back(message);
}

std::int32_t VirtualRun::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_.push_back(message);
    return static_cast<std::int32_t>(messages_.size()) - 1;
  }
  const std::int32_t number = free_messages_.back();
  free_messages_.pop_back();
  messages_[static_cast<std::size_t>(number)] = message;
  return number;
}

Outcome run_in_virtual_time(const schedule::Problem& problem, const BuildProgram& build, const CallSize& size,
                            const Machine& machine, const Crew& crew, const RunOptions& options) {
  return VirtualRun(problem, build, size, machine, crew, options).run();
}

}  // namespace unisono::model
