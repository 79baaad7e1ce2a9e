// SPDX-License-Identifier: BSD-3-Clause
// The checker's events: what may start, what has finished, and who waits for ever.
#include "proof/check_run.h"

#include <algorithm>

namespace unisono::proof {
namespace {

constexpr std::size_t most_failures = 6;

}  // namespace

std::string describe(const CheckPolicy& policy) {
  const std::string rank = std::to_string(policy.rank);
  std::string text = policy.is_stern ? "sends wait for their receives" : "sends are eager";
  switch (policy.pick) {
    case CheckPolicy::Pick::oldest:
      return text + ", oldest first";
    case CheckPolicy::Pick::newest:
      return text + ", newest first";
    case CheckPolicy::Pick::random:
      return text + ", in random order, seed " + std::to_string(policy.seed);
    case CheckPolicy::Pick::fast_rank:
      return text + ", rank " + rank + " as fast as it can";
    case CheckPolicy::Pick::slow_rank:
      return text + ", rank " + rank + " as late as it can";
  }
  return text;
}

CheckRun::CheckRun(const CheckPlan& plan, const CheckPolicy& policy)
    : plan_(plan),
      policy_(policy),
      random_(policy.seed),
      expressions_(plan.ranks()),
      ranks_(plan.ranks()),
      pending_(plan.predecessor_counts()),
      state_(plan.instances(), State::waiting),
      clocks_(plan.has_node_steps() ? plan.instances() : 0),
      payload_first_(plan.instances(), -1),
      results_(plan.calls()) {
  bool has_barrier = false;
  for (int call = 0; call < plan.calls(); ++call) {
    has_barrier = has_barrier || !moves_data(plan.call(call).problem.operation);
  }
  if (has_barrier) {
    words_ = (plan.ranks() + 63) / 64;
    known_.assign(words_ * plan.instances(), 0);
  }
  if (policy.is_stern) {
    for (int instance = 0; instance < plan.instances(); ++instance) {
      const schedule::Stage& stage = plan.program_of(instance).program().stages[plan.step_of(instance).stage];
      if (plan.piece_of(instance) >= stage.window) ++pending_[instance];
    }
  }
  set_up_nodes();
}

void CheckRun::set_up_nodes() {
  const patterns::Layout& layout = plan_.layout();
  nodes_.resize(layout.nodes());
  for (int node = 0; node < layout.nodes(); ++node) {
    NodeState& state = nodes_[node];
    const int local_size = static_cast<int>(layout.ranks_of[node].size());
    state.memory = std::make_unique<NodeMemory>(local_size, plan_.channels(), plan_.load().area_elements);
    state.waiting.resize(static_cast<std::size_t>(plan_.channels() * local_size));
    for (int call = 0; call < plan_.calls(); ++call) {
      const LoadedProgram& program = plan_.program(call, layout.ranks_of[node].front());
      auto& uses = state.uses.emplace_back(program.program().stages.size());
      for (std::size_t stage = 0; stage < uses.size(); ++stage) {
        const int channel = program.program().channel_of[stage];
        if (channel < 0) continue;
        uses[stage] = state.memory->begin_use(channel, program.geometry(static_cast<int>(stage)),
                                              program.pieces(static_cast<int>(stage)),
                                              program.program().stages[stage].ticks);
      }
    }
  }
}

void CheckRun::fail(const std::string& text) {
  if (failures_.size() < most_failures) failures_.push_back(text);
}

void CheckRun::fail(int instance, const std::string& text) {
  fail(plan_.describe(instance) + ": " + text);
}

std::vector<std::string> CheckRun::run() {
  for (int rank = 0; rank < plan_.ranks(); ++rank) start_call(rank, 0);
  while (taken_ < ready_.size() && failures_.size() < most_failures) {
    const std::int32_t event = take();
    const bool is_start = event % 2 == 0;
    RankState& rank = ranks_[plan_.rank_of(event / 2)];
    if (is_start && rank.is_blocked && state_[event / 2] == State::waiting) {
      rank.held_back.push_back(event);  // the executor does nothing else inside a fused operation
    } else if (is_start) {
      start(event / 2);
    } else {
      complete_message(event / 2);
    }
  }
  if (taken_ >= ready_.size()) report_stuck();
  return failures_;
}

std::int32_t CheckRun::take() {
  if (policy_.pick == CheckPolicy::Pick::oldest) return ready_[taken_++];
  std::size_t chosen = ready_.size() - 1;
  if (policy_.pick != CheckPolicy::Pick::newest) {
    chosen = random_() % ready_.size();
    const bool wants_rank = policy_.pick == CheckPolicy::Pick::fast_rank;
    if (policy_.pick != CheckPolicy::Pick::random) {
      for (std::size_t i = 0; i < ready_.size(); ++i) {
        const std::size_t candidate = (chosen + i) % ready_.size();
        if ((plan_.rank_of(ready_[candidate] / 2) == policy_.rank) != wants_rank) continue;
        chosen = candidate;
        break;
      }
    }
  }
  const std::int32_t event = ready_[chosen];
  ready_[chosen] = ready_.back();
  ready_.pop_back();
  return event;
}

void CheckRun::start_call(int rank, int call) {
  RankState& state = ranks_[rank];
  state.call = call;
  if (call == plan_.calls()) return;
  const LoadedProgram& program = plan_.program(call, rank);
  state.unfinished = program.instances();
  fill_buffers(rank);
  NodeMemory& memory = *node(rank).memory;
  if (plan_.has_node_steps()) state.start = memory.clock(local_rank_of(rank), 0);
  for (std::size_t stage = 0; stage < program.program().stages.size(); ++stage) {
    const ChannelUse& use = node(rank).uses[call][stage];
    if (program.program().channel_of[stage] < 0 || program.program().has_node_steps[stage]) continue;
    set_flag(-1, rank, use, use.base_tick + static_cast<std::uint64_t>(use.pieces * use.ticks));
  }
  const int first = plan_.first_instance(call, rank);
  for (int i = first; i < first + program.instances(); ++i) {
    if (pending_[i] == 0) push(2 * i);
  }
  if (program.instances() == 0) end_call(rank);
}

void CheckRun::end_call(int rank) {
  check_result(rank);
  check_barrier(rank);
  if (plan_.has_node_steps()) node(rank).memory->join_threads(local_rank_of(rank));
  check_remote_reads_done(rank);
  start_call(rank, ranks_[rank].call + 1);
}

void CheckRun::release_one(int instance) {
  if (--pending_[instance] == 0) push(2 * instance);
}

void CheckRun::start(int instance) {
  if (state_[instance] == State::waiting) {
    state_[instance] = State::started;
    if (words_ != 0)
      known(instance)[plan_.rank_of(instance) / 64] |= std::uint64_t{1} << (plan_.rank_of(instance) % 64);
    for (auto next = plan_.successors_begin(instance); next != plan_.successors_end(instance); ++next) {
      if (!next->is_start) continue;
      inherit(instance, next->instance, plan_.has_node_steps() ? clocks_[instance].get() : nullptr);
      release_one(next->instance);
    }
  }
  const CheckedStep& checked = plan_.step_of(instance);
  if (is_message(checked.step.kind)) {
    start_message(instance);
    return;
  }
  if (checked.is_node) {
    if (run_node_step(instance) == Progress::waits) return;
  } else if (checked.step.kind == schedule::StepKind::copy) {
    copy(instance);
  } else {
    reduce(instance);
  }
  finish(instance);
}

void CheckRun::start_message(int instance) {
  if (plan_.step_of(instance).is_node) begin_node_step(instance);
  if (!plan_.program_of(instance).is_sent(plan_.local(instance))) {
    finish(instance);
    return;
  }
  state_[instance] = State::posted;
  const int partner = plan_.partner_of(instance);
  const bool is_send = plan_.step_of(instance).step.kind == schedule::StepKind::send;
  const bool is_partner_posted = state_[partner] >= State::posted;
  if (policy_.is_stern) {
    if (!is_partner_posted) return;
    push(2 * instance + 1);
    push(2 * partner + 1);
  } else if (is_send) {
    complete_message(instance);
    if (is_partner_posted) push(2 * partner + 1);
  } else if (is_partner_posted) {
    push(2 * instance + 1);
  }
}

// The data leaves when the first side completes, and arrives when the receive does.
void CheckRun::complete_message(int instance) {
  const bool is_send = plan_.step_of(instance).step.kind == schedule::StepKind::send;
  const int send = is_send ? instance : plan_.partner_of(instance);
  if (payload_first_[send] < 0) {
    const Span from = operand(send, plan_.step_of(send).step.left, false);
    const bool is_cell =
        from.data != nullptr && plan_.program_of(send).is_cell(plan_.step_of(send).step.left);
    if (is_cell || check_defined(send, from)) {
      payload_first_[send] = static_cast<std::int64_t>(payload_.size());
      payload_.insert(payload_.end(), from.data, from.data + from.length);
    }
  }
  if (!is_send) {
    const Span into = operand(instance, plan_.step_of(instance).step.into, true);
    if (into.data != nullptr && payload_first_[send] >= 0) {
      std::copy_n(payload_.begin() + payload_first_[send], into.length, into.data);
    }
    if (words_ != 0) {
      for (std::size_t word = 0; word < words_; ++word) known(instance)[word] |= known(send)[word];
    }
  }
  finish(instance);
}

// A piece counts as done when those before it are (stern): so the executor counts.
void CheckRun::finish(int instance) {
  state_[instance] = State::done;
  if (!policy_.is_stern) {
    pass_on(instance);
    return;
  }
  const LoadedProgram& program = plan_.program_of(instance);
  const int pieces = static_cast<int>(program.pieces(plan_.step_of(instance).stage));
  const int piece = plan_.piece_of(instance);
  if (piece > 0 && state_[instance - 1] != State::passed) return;
  for (int i = instance; i < instance - piece + pieces && state_[i] == State::done; ++i) pass_on(i);
}

// What happened before `instance` happened before `next` as well.
void CheckRun::inherit(int instance, int next, const Clock* clock) {
  const int thread = plan_.thread_of(instance);
  if (clock != nullptr && (thread < 0 || plan_.thread_of(next) != thread)) {
    auto& seen = clocks_[next];
    if (!seen) {
      seen = std::make_unique<Clock>(*clock);
    } else {
      NodeMemory::join(seen.get(), *clock);
    }
  }
  for (std::size_t word = 0; word < words_; ++word) known(next)[word] |= known(instance)[word];
}

void CheckRun::pass_on(int instance) {
  state_[instance] = State::passed;
  const int rank = plan_.rank_of(instance);
  const int thread = plan_.thread_of(instance);
  const bool is_message_step = is_message(plan_.step_of(instance).step.kind);
  const Clock* clock = nullptr;
  if (plan_.has_node_steps()) {
    clock = thread >= 0 && !is_message_step ? &node(rank).memory->clock(local_rank_of(rank), thread)
                                            : clocks_[instance].get();
  }
  for (auto next = plan_.successors_begin(instance); next != plan_.successors_end(instance); ++next) {
    if (next->is_start) continue;
    inherit(instance, next->instance, clock);
    release_one(next->instance);
  }
  const LoadedProgram& program = plan_.program_of(instance);
  const int stage = plan_.step_of(instance).stage;
  const int window = program.program().stages[stage].window;
  if (policy_.is_stern && plan_.piece_of(instance) + window < program.pieces(stage)) {
    release_one(instance + window);
  }
  if (words_ != 0) {
    auto& heard = ranks_[rank].known;
    for (std::size_t word = 0; word < words_; ++word) heard[word] |= known(instance)[word];
  }
  if (--ranks_[rank].unfinished == 0) end_call(rank);
}

void CheckRun::report_stuck() {
  for (int rank = 0; rank < plan_.ranks(); ++rank) {
    const int call = ranks_[rank].call;
    if (call == plan_.calls()) continue;
    const int first = plan_.first_instance(call, rank);
    const int end = first + plan_.program(call, rank).instances();
    const auto blocked = [&](State wanted) {
      const auto found = std::find(state_.begin() + first, state_.begin() + end, wanted);
      return found == state_.begin() + end ? -1 : static_cast<int>(found - state_.begin());
    };
    int instance = blocked(State::started);
    if (instance < 0) instance = blocked(State::posted);
    if (instance >= 0) {
      fail(instance, "waits for ever");
    } else if ((instance = blocked(State::waiting)) >= 0) {
      fail(instance, "can never start");
    }
  }
}

}  // namespace unisono::proof
