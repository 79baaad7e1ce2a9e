// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/calls/blocking_calls.h"

#include <string>
#include <utility>

#include "runtime/call/crash_site.h"
#include "runtime/engines/call_timing.h"
#include "runtime/engines/fused_engine.h"

namespace unisono::runtime {
namespace {

void describe(Run* run, Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
              std::int64_t bytes) {
  run->call = call;
  run->communicator = &c;
  run->entry = &entry;
  run->is_commutative = is_commutative;
  run->bytes = bytes;
  run->work = &c.work;
}

}  // namespace

// Null: the host makes the call.
[[gnu::always_inline]] inline Communicator* BlockingCalls::find_to_take(const Call& call) {
  if (!gate_.is_open()) {
    gate_.leave(call.operation, NativeReason::disabled);
    return nullptr;
  }
  Communicator* c = communicators_.find(call.comm);
  if (c->native_reason != NativeReason::none) {
    if (c->native_reason != NativeReason::few_calls) {
      ++c->left.calls[static_cast<int>(call.operation)];
      return nullptr;
    }
    if (!communicators_.is_set_up_now(*c, call)) return nullptr;
  }
  if (c->queue != nullptr && c->queue->comes_before_blocking()) [[unlikely]]
    started_checks_.settle(*c);
  ++c->calls;
  return c;
}

// The handler stands here, not around the call of this: that stays the last thing that its caller does.
Outcome BlockingCalls::run(const Call& call, int* error) try {
  Communicator* c = find_to_take(call);
  if (c == nullptr) return Outcome::native;
  *error = host::success;
  const CallMemos& memos = c->memos.calls[static_cast<int>(call.operation)];
  if (memos.quick.holds(call) && !memos.quick.entry->is_next_to_be_looked_at()) [[likely]]
    return run_remembered(*c, memos.quick, call);
  if (memos.scheduled.holds(call) && !needs_copy(call) && !memos.scheduled.entry->is_next_to_be_looked_at())
    return run_remembered_schedule(*c, memos.scheduled, call, error);
  return run_anew(*c, call, error);
} catch (const PeerLost& lost) {
  *error = communicators_.end_with_lost_peer(call.comm, lost);
  return Outcome::done;
}

// What ranks have remembered of calls is of calls without copies.
Outcome BlockingCalls::run_staged(const Call& call, int* error) try {
  Communicator* c = find_to_take(call);
  if (c == nullptr) return Outcome::native;
  *error = host::success;
  return run_anew(*c, call, error);
} catch (const PeerLost& lost) {
  *error = communicators_.end_with_lost_peer(call.comm, lost);
  return Outcome::done;
}

Outcome BlockingCalls::run_anew(Communicator& c, const Call& call, int* error) {
  if (is_neighborhood(call.operation)) return run_neighbors(c, call, error);
  if (has_uneven_blocks(call.operation)) return run_blocks(c, call, error);
  const Arguments arguments = read_arguments(world_.host, call, c.rank, c.size, error);
  // The host says what is wrong.
  if (*error != host::success) return gate_.leave(call.operation, NativeReason::datatype);
  if (is_reduction(call.operation) && !world_.host.is_defined(call.op, call.send_type))
    return gate_.leave(call.operation, NativeReason::undefined_operator);
  const std::int64_t bytes = moves_data(call.operation) ? arguments.extent.bytes() : 0;
  if (bytes == 0 && moves_data(call.operation)) return Outcome::done;
  const bool may_exchange = is_commutative(world_, c, call);

  CallClass& chosen = learning_.class_of(c, call, may_exchange, bytes);
  const bool are_agents = chosen.kind == CallClass::Kind::by_agents;
  CallClass& entry = are_agents ? served_class(c, chosen, call, may_exchange, bytes) : chosen;
  const auto run_it = [&] {
    Run run;
    describe(&run, c, entry, call, may_exchange, bytes);
    run.arguments = arguments;
    const int result = engines_.run(run);
    // A remembered call is not looked at again: not where one in so many is to be checked, or where the next
    // one may be of another region.
    if (c.checking.interval == 0 && c.learning.regions.is_constant() && !are_agents)
      remember(c, entry, call, arguments, may_exchange);
    return result;
  };
  const Outcome outcome = serve(c, entry, call, bytes, run_it, error);
  if (*error != host::success) [[unlikely]]
    return outcome;  // the error handler may have freed the communicator
  if (entry.kind == CallClass::Kind::native && c.learning.regions.is_constant() && !are_agents)
    remember(c, entry, call, arguments, may_exchange);
  return outcome;
}

// A class has calls of all operators and types, and agents serve some: others are decided for without them.
// What they are all ranks know.
CallClass& BlockingCalls::served_class(Communicator& c, CallClass& by_agents, const Call& call,
                                       bool is_commutative, std::int64_t bytes) {
  std::string why = engines_.agents().why_not_blocking(c, call, bytes);
  if (why.empty()) return by_agents;
  if (by_agents.stand_in == nullptr) {
    by_agents.stand_in = std::make_unique<CallClass>();
    decisions_.decide_without_agents(c, *by_agents.stand_in, call, is_commutative, bytes, std::move(why));
  }
  return *by_agents.stand_in;
}

// One that is fused or left to the host.
Outcome BlockingCalls::run_remembered(Communicator& c, const CallMemo& memo, const Call& call) {
  CallClass& entry = *memo.entry;
  const bool is_timed = CallTiming::count(entry, memo.size.bytes);
  if (entry.kind == CallClass::Kind::native) {
    if (!is_timed) return Outcome::native;
    this_thread.timed_native = &entry;
    return Outcome::native_timed;
  }
  const CallTiming timing(is_timed);
  {
    const InsideAlgorithm here(&entry, static_cast<std::int64_t>(memo.size.bytes),
                               {.call = &call, .ranks = c.size});
    run_fused(c, call, call.send_buffer, call.recv_buffer, call.is_in_place, memo.size);
  }
  timing.end(entry, true);
  return Outcome::done;
}

// Nothing is to be packed, and no operator of the host's can fail.
Outcome BlockingCalls::run_remembered_schedule(Communicator& c, const CallMemo& memo, const Call& call,
                                               int* error) {
  CallClass& entry = *memo.entry;
  const CallTiming timing(CallTiming::count(entry, memo.size.bytes));
  const bool is_bcast = call.operation == Operation::bcast;
  const schedule::Data data{.input = call.send_buffer,
                            .output = is_bcast ? const_cast<void*>(call.send_buffer) : call.recv_buffer,
                            .elements = static_cast<std::int64_t>(memo.size.elements),
                            .element_bytes = memo.element_bytes,
                            .combine = memo.size.combine};
  {
    const InsideAlgorithm here(&entry, static_cast<std::int64_t>(memo.size.bytes),
                               {.call = &call, .ranks = c.size});
    *error = schedules_.execute(
        c, *Schedules::compiled(c, entry, call, call.is_in_place, memo.is_commutative), data);
  }
  timing.end(entry, *error == host::success);
  if (*error != host::success) [[unlikely]]
    *error = world_.host.call_error_handler(call.comm, *error);
  return Outcome::done;
}

bool BlockingCalls::leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced) {
  if (!gate_.is_open()) {
    gate_.leave(operation, NativeReason::disabled);
    return true;
  }
  Communicator* c = communicators_.find_again(handle);
  if (c == nullptr) return false;
  if (c->queue != nullptr && c->queue->comes_before_blocking()) return false;
  const CallMemo& memo = c->memos.calls[static_cast<int>(operation)].quick;
  if (!memo.is_of_all && (reduced == nullptr || !memo.is_left(*reduced))) return false;
  if (memo.entry->is_next_timed()) return false;
  CallTiming::count(*memo.entry, memo.size.bytes);
  ++c->calls;
  return true;
}

template <class Serve>
Outcome BlockingCalls::serve(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes,
                             Serve run_it, int* error) {
  const bool is_timed = CallTiming::count(entry, static_cast<std::uint64_t>(bytes));
  if (is_timed && entry.learner != nullptr) [[unlikely]]
    learning_.prepare(c, entry, call, bytes);
  if (entry.kind == CallClass::Kind::native) {
    this_thread.timed_native = &entry;
    return is_timed ? Outcome::native_timed : Outcome::native;
  }
  const bool is_verified = Checks::is_due(c, entry, call);
  if (is_verified) [[unlikely]] {
    if (call.staging != nullptr) *error = call.staging->fetch();
    checks_.begin(c, entry, call);
  }
  const CallTiming timing(is_timed);
  // The copies are part of what the call costs: the host needs none where it knows such memory.
  const bool is_staged = call.staging != nullptr && !is_verified;
  if (is_staged) *error = call.staging->fetch();
  if (*error == host::success) *error = run_it();
  if (is_staged && *error == host::success) *error = call.staging->deliver();
  timing.end(entry, *error == host::success);
  if (is_verified) [[unlikely]] {
    Checks::keep_own(c, *error);
    return Outcome::compared;
  }
  if (*error != host::success) [[unlikely]]
    *error = world_.host.call_error_handler(call.comm, *error);
  return Outcome::done;
}

// Where all ranks know all blocks, the mean one decides; elsewhere ranks have nothing in common that could.
Outcome BlockingCalls::run_blocks(Communicator& c, const Call& call, int* error) {
  const std::optional<std::int64_t> mean =
      call.staging == nullptr ? UnevenBlocks::known(c, call) : std::nullopt;
  if (mean) [[likely]] {
    *error = engines_.uneven_blocks().run_again(c, call, *mean);
    return Outcome::done;
  }
  c.work.blocks.read(world_.host, call, c.rank, c.size, error);
  // The host says what is wrong.
  if (*error != host::success) return gate_.leave(call.operation, NativeReason::datatype);
  if (is_reduction(call.operation) && !world_.host.is_defined(call.op, call.send_blocks.type))
    return gate_.leave(call.operation, NativeReason::undefined_operator);
  std::int64_t bytes = 0;
  if (has_known_blocks(call.operation)) {
    bytes = c.work.blocks.mean_bytes();
    if (bytes == 0) return Outcome::done;
  }
  const bool may_exchange = is_commutative(world_, c, call);
  CallClass& entry = learning_.class_of(c, call, may_exchange, bytes);
  const auto run_it = [&] {
    Run run;
    describe(&run, c, entry, call, may_exchange, bytes);
    return engines_.run(run);
  };
  const Outcome outcome = serve(c, entry, call, bytes, run_it, error);
  if (*error != host::success || !c.learning.regions.is_constant()) return outcome;
  if (entry.kind == CallClass::Kind::native && !has_known_blocks(call.operation))
    c.memos.calls[static_cast<int>(call.operation)].quick = {.entry = &entry, .is_of_all = true};
  if (entry.kind == CallClass::Kind::fused && c.checking.interval == 0)
    engines_.uneven_blocks().remember(c, entry, call, bytes);
  return outcome;
}

Outcome BlockingCalls::run_neighbors(Communicator& c, const Call& call, int* error) {
  if (!neighborhoods_.is_ready(c, call)) return gate_.leave(call.operation, c.node.neighborhood->reason);
  if (call.staging == nullptr && NeighborLines::is_known(c, call)) [[likely]] {
    *error = engines_.neighbor_lines().run_again(c, call);
    return Outcome::done;
  }
  c.work.neighbors.read(world_.host, call, *c.node.neighborhood, error);
  // The host says what is wrong.
  if (*error != host::success) return gate_.leave(call.operation, NativeReason::datatype);
  const std::int64_t bytes = c.node.neighborhood->bytes;
  CallClass& entry = learning_.class_of(c, call, true, bytes);
  const auto run_it = [&] {
    Run run;
    describe(&run, c, entry, call, true, bytes);
    return engines_.run(run);
  };
  const Outcome outcome = serve(c, entry, call, bytes, run_it, error);
  if (*error != host::success || !c.learning.regions.is_constant()) return outcome;
  if (entry.kind == CallClass::Kind::native)
    c.memos.calls[static_cast<int>(call.operation)].quick = {.entry = &entry, .is_of_all = true};
  if (entry.kind == CallClass::Kind::fused && c.checking.interval == 0 && NeighborLines::has_room(c))
    engines_.neighbor_lines().remember(c, entry, call);
  return outcome;
}

void BlockingCalls::native_finished(double seconds) {
  if (this_thread.timed_native != nullptr) CallTiming::keep(*this_thread.timed_native, seconds, 0, true);
  this_thread.timed_native = nullptr;
}

void BlockingCalls::remember(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
                             bool is_commutative) {
  const auto is_plain = [](const Side& side) {
    return side.count == 0 || (side.info.is_contiguous && side.info.element != ElementType::derived);
  };
  if (!is_plain(arguments.send) || !is_plain(arguments.recv)) return;
  shm::Combine combine;
  if (is_reduction(call.operation)) {
    combine = kernel_combine(world_.host, call.op, call.send_type, type_info(world_.host, call.send_type));
    if (combine.call == nullptr) return;
  }
  CallMemos& memos = c.memos.calls[static_cast<int>(call.operation)];
  CallMemo& memo = entry.kind == CallClass::Kind::scheduled ? memos.scheduled : memos.quick;
  memo = {.entry = &entry,
          .send_count = call.send_count,
          .recv_count = call.recv_count,
          .send_type = call.send_type,
          .recv_type = call.recv_type,
          .op = call.op,
          .size = fused_size(arguments.extent, combine),
          .element_bytes = arguments.extent.element_bytes,
          .is_commutative = is_commutative};
  // A barrier runs as one element, but moves nothing.
  if (!moves_data(call.operation)) memo.size.bytes = 0;
}

int BlockingCalls::compare(const Call& call, int host_error) {
  return checks_.compare(*communicators_.find(call.comm), call, host_error);
}

}  // namespace unisono::runtime
