// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/calls/started_calls.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/ticks.h"
#include "runtime/call/crash_site.h"
#include "runtime/call/pickup.h"
#include "runtime/calls/program_operators.h"
#include "runtime/engines/call_timing.h"
#include "runtime/engines/neighborhoods.h"

namespace unisono::runtime {
namespace {

// It has: now, or when its result was picked up.
void note_end(StartedCall* call) {
  const std::uint64_t now = ticks();
  call->ended_s = now_s();
  const Pickup* pickup = call->call.pickup;
  if (pickup == nullptr || !has_steady_counter) return;
  const double seconds_per_tick = (call->ended_s - call->start_s) /
                                  static_cast<double>(std::max<std::uint64_t>(now - call->start_ticks, 1));
  const auto seconds = [seconds_per_tick](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) * seconds_per_tick : 0;
  };
  const std::uint64_t end = pickup->is_picked_up() ? pickup->ended() : now;
  call->ended_s -= seconds(end, now);
  const std::uint64_t waited_since = pickup->waited_since(), answered = call->by_agents.answered;
  if (answered == 0 || (waited_since == 0 && !pickup->is_picked_up())) return;
  call->by_agents.times = {.calls = 1,
                           .under_way_s = seconds(call->start_ticks, answered),
                           .waited_s = waited_since == 0 ? 0 : seconds(waited_since, end)};
}

}  // namespace

StartedCalls::StartedCalls(const World& world, Gate& gate, Progress& progress, QueuesLock& queues,
                           Communicators& communicators, Slices& slices, Decisions& decisions,
                           const Engines& engines, Learning& learning, StartedChecks& checks)
    : world_(world),
      gate_(gate),
      progress_(progress),
      queues_(queues),
      communicators_(communicators),
      slices_(slices),
      decisions_(decisions),
      engines_(engines),
      learning_(learning),
      checks_(checks) {
  progress.join(*this);
}

// What the next call works in.
StartedCall* StartedCalls::take(Communicator* c, const Call& call) {
  if (c->queue == nullptr) c->queue = std::make_unique<CallQueue>();
  auto& spare = c->queue->spare;
  if (spare.empty()) spare.push_back(std::make_unique<StartedCall>());
  StartedCall& started = *spare.back();
  started.call = call;
  started.communicator = c;
  started.entry = nullptr;
  started.learned = nullptr;
  started.verified.comm.reset();
  started.left_for = NativeReason::none;
  started.by_agents = {};
  started.stage = Run::Stage::waiting;
  started.agreement = StartedCall::Agreement::none;
  started.error = host::success;
  return &started;
}

StartedCalls::Start StartedCalls::look_at(Communicator* c, const Call& call, StartedCall** taken) {
  StartedCall& started = *take(c, call);
  CallQueue& queue = *c->queue;
  *taken = &started;
  int error = host::success;
  const std::optional<std::int64_t> bytes = read(&started, &error);
  const bool is_reducing = is_reduction(call.operation);
  const host::Datatype type = operand_type(call);
  // The host says what is wrong.
  if (error != host::success) started.left_for = NativeReason::datatype;
  if (error == host::success && is_reducing && !world_.host.is_defined(call.op, type))
    started.left_for = NativeReason::undefined_operator;
  if (started.left_for != NativeReason::none) return Start::native;
  if (!bytes) return Start::nothing_to_do;
  if (engines_.agents().serves(*c, call, *bytes)) {
    started.is_commutative = true;
    started.entry =
        &Communicator::call_class(&queue.by_agents[static_cast<std::size_t>(call.operation)], true, *bytes);
    started.bytes = *bytes;
    if (started.entry->choice == nullptr) engines_.agents().decide(*c, call.operation, *bytes, started.entry);
    return Start::scheduled;
  }
  if (is_reducing && is_left_for_operator(world_, progress_, *c, call, type)) {
    started.left_for = NativeReason::operator_aside;
    return Start::native;
  }
  started.is_commutative = is_commutative(world_, *c, call);
  CallClass* learned = learning_.class_of_start(*c, call, started.is_commutative, *bytes, &started.learned);
  CallClass& entry =
      learned != nullptr
          ? *learned
          : Communicator::call_class(&queue.classes_of(call)[static_cast<std::size_t>(call.operation)],
                                     started.is_commutative, *bytes);
  if (entry.kind == CallClass::Kind::undecided)
    decisions_.decide(*c, entry, call, started.is_commutative, *bytes, false);
  started.entry = &entry;
  started.bytes = *bytes;
  return entry.kind == CallClass::Kind::native ? Start::native : Start::scheduled;
}

Outcome StartedCalls::start(const Call& call, const Completion& completion, HostPart** host) {
  if (!gate_.is_open()) return gate_.leave(call.operation, NativeReason::disabled);
  if (call.may_outlive) return gate_.leave(call.operation, NativeReason::of_session);
  Communicator* c = communicators_.find_for_started(call.comm);
  const bool is_not_set_up = c->native_reason == NativeReason::few_calls;
  if (is_not_set_up && !communicators_.is_taken_before_set_up(*c, call)) return Outcome::native;
  const bool is_left = c->native_reason != NativeReason::none && !is_not_set_up;
  if (!is_left && is_neighborhood(call.operation) && !Neighborhoods::is_set_up(*c))
    return gate_.leave(call.operation, Neighborhoods::reason_of(*c));
  UniqueLock lock(queues_.mutex());
  if (is_left) {
    ++c->left.calls[static_cast<int>(call.operation)];
    return Outcome::native;
  }
  StartedCall* started = nullptr;
  const Start what = look_at(c, call, &started);
  if (what == Start::nothing_to_do) {
    lock.unlock();
    completion.call(completion.context, host::success);
    return Outcome::done;
  }
  if (started->entry != nullptr)
    CallTiming::count(*started->entry, static_cast<std::uint64_t>(started->bytes));
  if (started->left_for != NativeReason::none) return gate_.leave(call.operation, started->left_for);
  if (what == Start::native) return Outcome::native;
  started->work->slice = slices_.of_next_start(*c);
  // Those before it come first, and use the other slice if it does.
  const CallQueue& queue = *c->queue;
  const shm::Slice* first = queue.calls.empty() ? started->work->slice : queue.calls.front()->work->slice;
  c->queue->is_waited_for =
      c->checking.interval != 0 || (c->node.slice != nullptr && first == c->node.slice.get());
  const Launched launched = launch(started, completion, host);
  lock.unlock();
  return let_go(launched, completion);
}

// `started` is the last one of the spare ones.
StartedCalls::Launched StartedCalls::launch(StartedCall* started, const Completion& completion,
                                            HostPart** host) {
  Communicator* c = started->communicator;
  started->algorithm = started->entry->choice->algorithm;
  started->completion = completion;
  started->start_s = now_s();
  started->start_ticks = ticks();
  checks_.plan(started, host != nullptr);
  if (started->error == host::success && started->call.staging != nullptr)
    started->error = started->call.staging->fetch();
  if (started->error == host::success) started->error = prepare(started);
  if (started->error != host::success) {
    // The others wait for this process, as they do where a blocking call fails on one.
    started->prepared.reset();  // the caller holds it
    return {.error = started->error};
  }
  const bool is_checked = started->verified.check != nullptr;
  if (is_checked) *host = checks_.begin(started);
  CallQueue& queue = *c->queue;
  if (queue.calls.empty()) active_.push_back(c);
  queue.calls.push_back(std::move(queue.spare.back()));
  queue.spare.pop_back();
  queue.under_way.fetch_add(1, std::memory_order_relaxed);
  if (under_way_++ == 0) under_way_since_s_ = now_s();
  // Agents need nobody to go on with what is posted.
  started->needs_thread = progress_.has_thread() && (started->entry->kind != CallClass::Kind::by_agents ||
                                                     started->by_agents.number == 0);
  progress_.add(started->needs_thread);
  return {.outcome = is_checked ? Outcome::compared : Outcome::done, .is_under_way = true};
}

Outcome StartedCalls::let_go(const Launched& launched, const Completion& completion) {
  if (launched.is_under_way) {
    progress_.make();
  } else {
    completion.call(completion.context, launched.error);
  }
  return launched.outcome;
}

double StartedCalls::under_way_s() const {
  const LockGuard lock(queues_.mutex());
  return under_way_s_;
}

// What decides about the call, bytes, as for blocking ones. Nothing where it moves nothing.
std::optional<std::int64_t> StartedCalls::read(StartedCall* started, int* error) const {
  const Call& call = started->call;
  const Communicator& c = *started->communicator;
  if (!moves_data(call.operation)) {
    started->arguments = read_arguments(world_.host, call, c.rank, c.size, error);
    return 0;
  }
  std::int64_t bytes = 0;
  if (is_neighborhood(call.operation)) {
    started->work->neighbors.read(world_.host, call, *c.node.neighborhood, error);
    return c.node.neighborhood->bytes;
  }
  if (has_uneven_blocks(call.operation)) {
    BlockTransfer& blocks = started->work->blocks;
    blocks.read(world_.host, call, c.rank, c.size, error);
    if (!has_known_blocks(call.operation)) return 0;
    bytes = blocks.mean_bytes();
  } else {
    started->arguments = read_arguments(world_.host, call, c.rank, c.size, error);
    bytes = started->arguments.extent.bytes();
  }
  if (bytes == 0) return std::nullopt;
  return bytes;
}

int StartedCalls::prepare(StartedCall* started) const {
  started->float_control.reset();
  started->is_of_program_alone = false;
  started->packing = started->verified.check != nullptr              ? BlockTransfer::Packing::apart
                     : started->communicator->checking.interval != 0 ? BlockTransfer::Packing::for_any
                                                                     : BlockTransfer::Packing::as_needed;
  started->engine = &engines_.of(*started);
  const int error = started->engine->start(*started);
  if (error != host::success || !is_reduction(started->call.operation)) return error;
  started->float_control = FloatControl::of_this_thread();
  started->is_of_program_alone = is_of_program_alone(world_, progress_, started->call);
  return host::success;
}

// Lets a call go on that comes first in its queue. True where it is over but for the host's part.
bool StartedCalls::advance(StartedCall* call) {
  using Agreement = StartedCall::Agreement;
  Communicator& c = *call->communicator;
  for (;;) {
    if (call->agreement == Agreement::to_come) {
      call->agreement = Agreement::under_way;
      checks_.start_agreement(call);
    }
    const bool is_agreement = call->agreement == Agreement::under_way;
    const bool is_to_begin = !is_agreement && call->stage == Run::Stage::waiting;
    if (is_to_begin && checks_.replace_where_found_wrong(call)) call->engine = &engines_.of(*call);
    const UnevenMemory uneven = call->work->memory_of(call->call.operation);
    const InsideAlgorithm here(is_agreement ? nullptr : call->entry, call->bytes,
                               {.call = &call->call, .ranks = c.size, .uneven = &uneven});
    if (poll_step(*call->engine, call, queues_)) {
      if (!is_agreement) return true;
      call->error = call->work->executor.finish();
      if (call->error != host::success) return true;
      checks_.take_findings(c, call->verified.findings);
      call->agreement = Agreement::none;
    } else if (call->stage != Run::Stage::after_header) {
      if (c.node.peers == nullptr || !c.node.peers->are_lost_by_now()) return false;
      if (call->call.pickup != nullptr && call->call.pickup->close() != Pickup::State::closed) return false;
      world_.has_lost_peer = true;
      call->error = world_.host.rank_has_died();
      return true;
    }
  }
}

// The communicator's calls one after the other. True where one has ended. The queue stays while it has calls;
// other threads may add some meanwhile.
bool StartedCalls::advance(Communicator* c) {
  CallQueue& queue = *c->queue;
  bool has_ended = false;
  while (!queue.calls.empty() && advance(queue.calls.front().get())) {
    if (queue.calls.front()->needs_thread) progress_.leave_to_program();
    over_.push_back(std::move(queue.calls.front()));
    queue.calls.pop_front();
    has_ended = true;
  }
  if (queue.calls.empty()) std::erase(active_, c);
  return has_ended;
}

// Where the lock is given up in between others may begin or end: those that begin come behind, and where one
// ends that stood before, one is looked at twice.
template <class Choose>
bool StartedCalls::advance_all(Choose choose) {
  bool has_ended = false;
  for (std::size_t i = active_.size(); i-- > 0;) {
    if (i >= active_.size() || active_[i]->queue->is_polled_apart || !choose(*active_[i])) continue;
    has_ended = advance(active_[i]) || has_ended;
  }
  return has_ended;
}

// Aside of the program's threads: host functions are left to those, as far as one can choose.
bool StartedCalls::advance_aside() {
  if (!queues_.mutex().try_lock()) return false;
  const LockGuard lock(queues_.mutex(), std::adopt_lock);
  return advance_all([this](const Communicator& c)
                         UNISONO_REQUIRES(held_queues) { return may_go_on_aside(c); });
}

// Reproducible calls may use messages without threads in the host: then they go on with the program alone.
bool StartedCalls::may_go_on_aside(const Communicator& c) const {
  if (c.queue->calls.front()->is_of_program_alone) return false;
  return world_.may_call_host_aside || !c.is_reproducible || c.id < 0;
}

bool StartedCalls::advance() {
  const OutsideAlgorithms outside;  // of the one that waits, if any: what goes on says so itself
  std::vector<std::unique_ptr<StartedCall>> over;
  {
    if (!queues_.mutex().try_lock()) return false;
    const LockGuard lock(queues_.mutex(), std::adopt_lock);
    advance_all([](const Communicator&) { return true; });
    checks_.look_at_host_parts();
    std::erase_if(over_, [&](std::unique_ptr<StartedCall>& call) {
      if (call->verified.check != nullptr && !call->verified.check->is_host_over) return false;
      over.push_back(std::move(call));
      return true;
    });
  }
  if (over.empty()) return false;
  conclude(&over);
  return true;
}

// Outside of the lock: operators are the program's. Whoever completes the request hears of errors.
void StartedCalls::conclude(std::vector<std::unique_ptr<StartedCall>>* calls) {
  for (const auto& call : *calls) {
    call->engine->finish(*call);
    // Where the host's part failed its error handler has spoken.
    if (call->verified.check != nullptr) checks_.conclude(call.get());
    if (call->call.staging != nullptr && call->error == host::success)
      call->error = call->call.staging->deliver();
    note_end(call.get());
    if (call->call.pickup != nullptr) call->call.pickup->end();
    call->completion.call(call->completion.context, call->error);
  }
  // Those whose requests are gone end outside of the lock.
  std::vector<std::shared_ptr<PreparedCall>> prepared;
  const LockGuard lock(queues_.mutex());
  double last_s = 0;
  for (auto& call : *calls) {
    CallClass& entry = *call->entry;
    CallTiming::keep_started(entry, call->ended_s - call->start_s);
    if (call->by_agents.times.calls != 0) call->communicator->node.agents->times.add(call->by_agents.times);
    last_s = std::max(last_s, call->ended_s);
    CallQueue& queue = *call->communicator->queue;
    if (call->prepared != nullptr) prepared.push_back(std::move(call->prepared));
    call->verified.check.reset();
    call->learned.reset();
    queue.spare.push_back(std::move(call));
    queue.under_way.fetch_sub(1, std::memory_order_release);
  }
  const int ended = static_cast<int>(calls->size());
  under_way_ -= ended;
  if (under_way_ == 0) under_way_s_ += last_s - under_way_since_s_;
  progress_.remove(ended);
}

}  // namespace unisono::runtime
