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
    : layout_(problem.layout), size_(size), machine_(machine), crew_(crew), options_(options) {
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
  run_.ends.resize(ranks_.size());
  for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
    if (options_.begins.empty()) {
      begin(index);
    } else {
      push(
          {.us = options_.begins[static_cast<std::size_t>(index)], .kind = EventKind::begin, .index = index});
    }
  }
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
    case EventKind::begin:
      begin(event.index);
      break;
  }
}

void VirtualRun::begin(int index) {
  ranks_[static_cast<std::size_t>(index)].core_free_us = now_;
  run_.ends[static_cast<std::size_t>(index)] = now_;
  if (options_.recorder != nullptr) options_.recorder->begin(index, now_);
  load(index, -1, now_);
}

void VirtualRun::load(int index, std::int32_t cause, double us) {
  LiveSteps& steps = steps_[static_cast<std::size_t>(index)];
  const std::int64_t before = steps.waiting();
  const std::int32_t first = steps.load();
  if (options_.recorder != nullptr) options_.recorder->load(index, cause, first, steps.end());
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
  run_.us = run_.ends[static_cast<std::size_t>(index)] = now_;
  const std::int64_t before = steps.waiting();
  const bool is_done = steps.complete(number, piece);
  held_ += steps.waiting() - before;
  consider(index, number, now_);
  // The list may grow while it is gone through, its step may not go away: nothing is loaded meanwhile.
  const auto& next = steps.at(number).waited_by;
  for (std::size_t i = 0; i < next.size(); ++i) consider(index, next[i], now_);
  if (is_done) load(index, number, now_);
}

// A core: of the rank alone, or the one whose turn it has.
VirtualRun::Span VirtualRun::take_core_alone(int index, double us, double work_us, double before_us) {
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  double start = std::max(us, rank.core_free_us);
  const double all_us = before_us + work_us;
  Core* core = all_us > 0 ? core_of(index) : nullptr;
  if (core != nullptr) start = std::max(start, core->free_us);
  Span span{start + before_us, start + before_us + work_us};
  if (options_.cores != nullptr) {
    span.ends = options_.cores->end(index, start, all_us);
    span.begins = span.ends - work_us;
  }
  rank.core_free_us = span.ends;
  if (core != nullptr) core->free_us = rank.core_free_us;
  return span;
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
      return read_fused(index, task.step, task.piece, us);
  }
}

void VirtualRun::start(int index, std::int32_t number, std::int32_t piece, double us) {
  LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  const std::int32_t call = steps_[static_cast<std::size_t>(index)].call_of(step);
  if (rank.calls_begun <= call) {
    // A call that is one fused step goes a shorter way, which its own cost contains.
    rank.calls_begun = call + 1;
    if (!is_fused(step.kind) && !is_on_agent(index)) begin_call(index);
  }
  if (options_.recorder != nullptr) record_waits(index, number);
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

void VirtualRun::begin_call(int index) {
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  if (options_.cores == nullptr) {
    rank.core_free_us += machine_.call_us;
  } else {
    rank.core_free_us = options_.cores->end(index, rank.core_free_us, machine_.call_us);
  }
  if (options_.recorder != nullptr) options_.recorder->work(index, machine_.call_us);
}

void VirtualRun::record_waits(int index, std::int32_t number) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (step.pieces > 1) options_.recorder->refuse("steps are cut into pieces");
  options_.recorder->start(index, number);
  for (const schedule::Predecessor& wait : step.waits_for)
    options_.recorder->wait_for(index, number, wait.step, is_start(wait.how));
}

void VirtualRun::push_finish(int index, std::int32_t number, std::int32_t piece, double us) {
  push({.us = us, .kind = EventKind::finish, .index = index, .piece = piece, .step = number});
}

// A step that has nothing to do.
void VirtualRun::finish_at_once(int index, std::int32_t number, std::int32_t piece, double us) {
  if (options_.recorder != nullptr) options_.recorder->finish(index, number);
  push_finish(index, number, piece, us);
}

void VirtualRun::record_work(int index, std::int32_t number, double us) {
  options_.recorder->finish(index, number, options_.recorder->work(index, number, us));
}

Outcome run_in_virtual_time(const schedule::Problem& problem, const BuildProgram& build, const CallSize& size,
                            const Machine& machine, const Crew& crew, const RunOptions& options) {
  return VirtualRun(problem, build, size, machine, crew, options).run();
}

}  // namespace unisono::model
