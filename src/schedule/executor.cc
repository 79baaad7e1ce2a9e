// SPDX-License-Identifier: BSD-3-Clause
// Runs compiled steps: whatever is ready starts, messages and flags are polled, nothing waits inside.
#include "schedule/executor.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "schedule/run_state.h"

namespace unisono::schedule {

namespace {

// While cores are to be had, a rank that waits for messages gives its own away only now and then. One look
// takes some 50 ns, and giving away a core that nobody wants takes ten times as long.
constexpr std::uint32_t polls_per_yield = 256;
// Where cores are shared it does so soon. Not at every look: one look does not always take a message in that
// is there already, and some hosts give the core away in it as well.
constexpr std::uint32_t polls_per_yield_when_crowded = 4;
// How long messages under way may take to end after an error.
constexpr int drain_polls = 2000;

void make_host_progress(void* host) {
  static_cast<host::Host*>(host)->progress();
}

}  // namespace

Executor::Executor() : state_(std::make_unique<State>()) {}

Executor::~Executor() {
  for (Arena& arena : state_->abandoned.arenas) arena.abandon();
}

int Executor::run(const Compiled& compiled, const Ground& ground, const Data& data) {
  if (compiled.is_fused_only) return state_->run_fused(compiled, ground, data);
  state_->start(compiled, ground, data);
  while (!state_->poll()) state_->wait_idle();
  return state_->finish();
}

void Executor::start(const Compiled& compiled, const Ground& ground, const Data& data) {
  state_->start(compiled, ground, data);
}

bool Executor::poll() {
  return state_->poll();
}

int Executor::finish() {
  return state_->finish();
}

int Executor::State::run_fused(const Compiled& what, const Ground& where, const Data& with) {
  take(what, where, with);
  cut = {};
  for (const CompiledStep& step : what.steps) do_fused(step, 0);
  return host::success;
}

void Executor::State::start(const Compiled& what, const Ground& where, const Data& with) {
  error = host::success;
  local_bytes = 0;
  idle.polls = 0;
  single_copy.has_exposed = false;
  test_abandoned();
  take(what, where, with);
  if (what.has_channels) begin_channels();
  const std::size_t count = what.steps.size();
  steps_left = static_cast<std::int64_t>(count);
  const auto most_messages = static_cast<std::size_t>(what.most_messages);
  if (messages.requests.size() < most_messages) {
    messages.requests.resize(most_messages);
    messages.pieces.resize(most_messages);
    messages.completed.resize(most_messages);
  }
  if (queue.steps.size() < count) queue.steps.resize(std::bit_ceil(count));
  queue.first = queue.count = 0;
  if (is_whole) {
    cut = {};
    waits.assign(what.waits.begin(), what.waits.end());
    std::copy(what.roots.begin(), what.roots.end(), queue.steps.begin());
    queue.count = what.roots.size();
  } else {
    prepare_steps();
  }
}

bool Executor::State::poll() {
  has_moved = false;
  if (is_whole) {
    start_ready();
  } else {
    start_ready_pieces();
  }
  local_bytes = 0;
  if (error == host::success && steps_left > 0) {
    test_messages();
    test_awaits();
    if (compiled->has_single_copy) test_asked();
  }
  return steps_left == 0 || error != host::success;
}

void Executor::State::test_messages() {
  if (messages.count == 0) return;
  int completed_count = 0;
  int code = host::success;
  if (messages.count == 1) {
    bool is_done = false;
    code = ground.host->test(messages.requests.data(), &is_done);
    completed_count = is_done ? 1 : 0;
    messages.completed[0] = 0;
  } else {
    code = ground.host->test_some(static_cast<int>(messages.count), messages.requests.data(),
                                  &completed_count, messages.completed.data());
  }
  if (completed_count > 0) {
    has_moved = true;
    if (is_whole) {
      for (int i = 0; i < completed_count; ++i) complete(messages.pieces[messages.completed[i]].step);
    } else {
      complete_messages(completed_count);
    }
    forget_messages(completed_count);
  }
  if (code != host::success) fail(code);
}

// Those that are over.
void Executor::State::forget_messages(int completed_count) {
  for (int i = 0; i < completed_count; ++i) messages.pieces[messages.completed[i]].step = -1;
  std::size_t kept = messages.count - static_cast<std::size_t>(completed_count);
  if (kept > 0) {
    kept = 0;
    for (std::size_t i = 0; i < messages.count; ++i) {
      if (messages.pieces[i].step < 0) continue;
      messages.pieces[kept] = messages.pieces[i];
      messages.requests[kept++] = messages.requests[i];
    }
  }
  messages.count = kept;
}

void Executor::State::test_awaits() {
  for (std::size_t i = 0; i < awaiting.size();) {
    const Piece await = awaiting[i];
    if (!is_await_over(compiled->steps[await.step], await.piece)) {
      ++i;
      continue;
    }
    awaiting[i] = awaiting.back();
    awaiting.pop_back();
    has_moved = true;
    if (is_whole) {
      complete(await.step);
    } else {
      complete_piece(await.step, await.piece);
    }
  }
}

void Executor::State::wait_idle() {
  if (has_moved) {
    end_wait();
    return;
  }
  if (messages.count > 0) {
    const bool is_crowded = shm::gives_core_away(wait_config().policy);
    const std::uint32_t polls = is_crowded ? polls_per_yield_when_crowded : polls_per_yield;
    if (++idle.polls % polls == 0) {
      if (idle.since_ns == 0) idle.since_ns = now_ns();
      if (ground.others.call != nullptr) ground.others.call(ground.others.argument);
      sched_yield();
    }
    return;
  }
  if (!idle.backoff) {
    idle.waiting = wait_config();
    if (ground.slice != nullptr) {
      idle.waiting.doorbell = ground.slice->wait_config().doorbell;
      idle.waiting.own = ground.slice->wait_config().own;
    }
    if (idle.waiting.progress.call == nullptr) idle.waiting.progress = {make_host_progress, ground.host};
    idle.backoff.emplace(idle.waiting);
  }
  idle.backoff->step();
}

void Executor::State::end_wait() {
  idle.polls = 0;
  idle.backoff.reset();
  if (idle.since_ns != 0) shm::long_waits_ns += now_ns() - std::exchange(idle.since_ns, 0);
}

const shm::WaitConfig& Executor::State::wait_config() const {
  static const shm::WaitConfig standard;
  if (ground.wait != nullptr) return *ground.wait;
  return ground.slice != nullptr ? ground.slice->wait_config() : standard;
}

void Executor::State::fail(int code) {
  if (error == host::success) error = code;
}

// After an error: what is under way may end by itself; what does not is left to later calls, and so is the
// memory that it may write to.
void Executor::State::drain() {
  for (int i = 0; i < drain_polls && messages.count > 0; ++i) {
    for (std::size_t k = 0; k < messages.count;) {
      bool is_done = false;
      ground.host->test(&messages.requests[k], &is_done);
      if (is_done) {
        messages.requests[k] = messages.requests[--messages.count];
      } else {
        ++k;
      }
    }
    sched_yield();
  }
  if (messages.count > 0) abandoned.arenas.push_back(std::exchange(arena, Arena()));
  abandoned.requests.insert(abandoned.requests.end(), messages.requests.begin(),
                            messages.requests.begin() + static_cast<std::ptrdiff_t>(messages.count));
  messages.count = 0;
  awaiting.clear();
  single_copy.asked.clear();
}

void Executor::State::test_abandoned() {
  if (abandoned.requests.empty()) return;
  for (std::size_t k = 0; k < abandoned.requests.size();) {
    bool is_done = false;
    ground.host->test(&abandoned.requests[k], &is_done);
    if (is_done) {
      abandoned.requests[k] = abandoned.requests.back();
      abandoned.requests.pop_back();
    } else {
      ++k;
    }
  }
  if (abandoned.requests.empty()) abandoned.arenas.clear();
}

int Executor::State::finish() {
  end_wait();
  if (error != host::success) drain();
  if (!compiled->has_channels) return error;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const CompiledStage& stage = compiled->stages[i];
    if (stage.channel >= 0 && !stage.shape.continues_channel) ground.slice->end(stages[i].use);
  }
  return error;
}

}  // namespace unisono::schedule
