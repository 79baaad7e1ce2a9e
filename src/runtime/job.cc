// SPDX-License-Identifier: BSD-3-Clause
// The way of a call: communicator, class, decision, transfer, execution, record.
#include "runtime/job.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/crash_site.h"
#include "runtime/learning.h"

namespace unisono::runtime {
namespace {

// Two clock reads cost as much as a small collective: once a class is known to be quick, one call in 64 is
// timed.
constexpr int samples_before_thinning = 32;
constexpr double quick_call_s = 5e-6;
constexpr std::uint32_t thin_mask = 63;

void record_time(CallClass& entry, double seconds, double waited_s) {
  entry.times.add(seconds, waited_s);
  // What is learned says itself which calls are timed.
  if (entry.times.count() == samples_before_thinning && entry.learner == nullptr &&
      entry.times.timed_s() < quick_call_s * samples_before_thinning) {
    entry.sample_mask = thin_mask;
  }
}

// What the thread used last: most programs use one communicator for long.
struct LastHit {
  const Job* job = nullptr;
  std::uintptr_t handle = 0;
  std::uint64_t generation = 0;
  Communicator* communicator = nullptr;

  // Null where it was another one.
  Communicator* find(const Job* of, host::Comm comm, std::uint64_t now) const {
    const bool is_it = handle == static_cast<std::uintptr_t>(comm) && job == of && generation == now;
    return is_it ? communicator : nullptr;
  }
};
// Every call looks here: without the call that finds a loaded library's thread_local variables otherwise.
[[gnu::tls_model("initial-exec")]] thread_local LastHit last_hit;
// The class of a call that the host is running for this thread, between collective() and native_finished().
[[gnu::tls_model("initial-exec")]] thread_local CallClass* timed_native = nullptr;

FusedSize fused_size(const Extent& extent, const shm::Combine& combine) {
  return {static_cast<std::size_t>(extent.elements), static_cast<std::size_t>(extent.bytes()), combine};
}

}  // namespace

// A fused operation on one node, where local ranks are the communicator's ranks.
void Job::run_fused(Communicator& c, const Call& call, const void* input, void* output, bool is_in_place,
                    const FusedSize& size) {
  shm::Slice& slice = *c.slice;
  const void* from = is_in_place ? output : input;
  const std::size_t own = size.bytes * static_cast<std::size_t>(c.rank);
  const auto own_block = [&](const void* blocks) { return static_cast<const char*>(blocks) + own; };
  switch (call.operation) {
    case Operation::barrier:
      slice.barrier();
      break;
    case Operation::bcast:
      slice.bcast(output, size.bytes, call.root);
      break;
    case Operation::reduce:
      slice.reduce(output, from, size.elements, size.combine, call.root);
      break;
    case Operation::allreduce:
      slice.allreduce(output, from, size.elements, size.combine);
      break;
    case Operation::gather:
      slice.gather(output, is_in_place ? own_block(output) : input, size.bytes, call.root);
      break;
    case Operation::scatter:
      if (is_in_place) output = const_cast<char*>(own_block(input));
      slice.scatter(output, input, size.bytes, call.root);
      break;
    case Operation::allgather:
      slice.allgather(output, is_in_place ? own_block(output) : input, size.bytes);
      break;
    case Operation::alltoall:
      slice.alltoall(output, from, size.bytes);
      break;
    case Operation::reduce_scatter_block:
      slice.reduce_scatter(output, from, size.elements, size.combine);
      break;
    case Operation::scan:
      slice.scan(output, from, size.elements, size.combine);
      break;
    case Operation::exscan:
      slice.exscan(output, from, size.elements, size.combine);
      break;
    case Operation::allgatherv:
    case Operation::reduce_scatter:
    case Operation::alltoallv:
    case Operation::alltoallw:
    case Operation::gatherv:
    case Operation::scatterv:
      break;  // job_blocks.cc
  }
}

Communicator* Job::find(host::Comm handle) {
  const auto key = static_cast<std::uintptr_t>(handle);
  LastHit& hit = last_hit;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  Communicator* c = hit.find(this, handle, generation);
  if (c != nullptr) [[likely]]
    return c;
  c = find_set_up(handle);
  if (c == nullptr) c = set_up(handle, true);
  if (is_learning()) c->regions.enter(c->calls, region_.load(std::memory_order_acquire));
  hit = {this, key, generation, c};
  return c;
}

void Job::forget_last_hit() {
  last_hit = {};
}

Communicator* Job::find_set_up(host::Comm handle) {
  bool is_ending = false;
  Communicator* ending = find_ending(handle, &is_ending);
  if (is_ending) [[unlikely]]
    return ending;
  const std::lock_guard lock(table_mutex_);
  const auto found = table_.find(static_cast<std::uintptr_t>(handle));
  return found == table_.end() ? nullptr : found->second.get();
}

// Null: the host makes the call.
[[gnu::always_inline]] inline Communicator* Job::find_to_take(const Call& call) {
  if (!is_enabled_.load(std::memory_order_relaxed)) {
    leave(call.operation, NativeReason::disabled);
    return nullptr;
  }
  Communicator* c = find(call.comm);
  if (c->native_reason != NativeReason::none) {
    if (c->native_reason != NativeReason::few_calls) {
      ++c->native_calls[static_cast<int>(call.operation)];
      return nullptr;
    }
    if (!is_set_up_now(*c, call)) return nullptr;
  }
  if (c->queue != nullptr && c->queue->comes_before_blocking()) [[unlikely]]
    settle(*c);
  ++c->calls;
  return c;
}

// The handler stands here, not around the call of this: that stays the last thing that its caller does.
Outcome Job::collective(const Call& call, int* error) try {
  Communicator* c = find_to_take(call);
  if (c == nullptr) return Outcome::native;
  *error = host::success;
  const CallMemos& memos = c->memos[static_cast<int>(call.operation)];
  if (memos.quick.holds(call) && !memos.quick.entry->is_next_to_be_looked_at()) [[likely]]
    return run_remembered(*c, memos.quick, call);
  if (memos.scheduled.holds(call) && !needs_copy(call) && !memos.scheduled.entry->is_next_to_be_looked_at())
    return run_remembered_schedule(*c, memos.scheduled, call, error);
  return collective_anew(*c, call, error);
} catch (const PeerLost& lost) {
  *error = end_with_lost_peer(call.comm, lost);
  return Outcome::done;
}

// What ranks have remembered of calls is of calls without copies.
Outcome Job::collective_staged(const Call& call, int* error) try {
  Communicator* c = find_to_take(call);
  if (c == nullptr) return Outcome::native;
  *error = host::success;
  return collective_anew(*c, call, error);
} catch (const PeerLost& lost) {
  *error = end_with_lost_peer(call.comm, lost);
  return Outcome::done;
}

Outcome Job::collective_anew(Communicator& c, const Call& call, int* error) {
  if (has_uneven_blocks(call.operation)) return collective_of_blocks(c, call, error);
  const Arguments arguments = read_arguments(host_, call, c.rank, c.size, error);
  // The host says what is wrong.
  if (*error != host::success) return leave(call.operation, NativeReason::datatype);
  if (is_reduction(call.operation) && !host_.is_defined(call.op, call.send_type))
    return leave(call.operation, NativeReason::undefined_operator);
  const std::int64_t bytes = call.operation == Operation::barrier ? 0 : arguments.extent.bytes();
  if (bytes == 0 && call.operation != Operation::barrier) return Outcome::done;
  const bool may_exchange = is_commutative(c, call);

  CallClass& entry = class_of(c, call, may_exchange, bytes);
  const auto run_it = [&] {
    const int result = run(c, entry, call, arguments, may_exchange);
    // A remembered call is not looked at again: not where one in so many is to be checked, or where the next
    // one may be of another region.
    if (c.verify_interval == 0 && c.regions.is_constant()) remember(c, entry, call, arguments, may_exchange);
    return result;
  };
  const Outcome outcome = serve(c, entry, call, bytes, run_it, error);
  if (*error != host::success) [[unlikely]]
    return outcome;  // the error handler may have freed the communicator
  if (entry.kind == CallClass::Kind::native && c.regions.is_constant())
    remember(c, entry, call, arguments, may_exchange);
  return outcome;
}

// One that is fused or left to the host.
Outcome Job::run_remembered(Communicator& c, const CallMemo& memo, const Call& call) {
  CallClass& entry = *memo.entry;
  const bool is_timed = (entry.calls++ & entry.sample_mask) == 0;
  entry.bytes += memo.size.bytes;
  if (entry.kind == CallClass::Kind::native) {
    if (!is_timed) return Outcome::native;
    timed_native = &entry;
    return Outcome::native_timed;
  }
  const Beginning beginning(is_timed);
  {
    const InsideAlgorithm here(&entry, static_cast<std::int64_t>(memo.size.bytes),
                               {.call = &call, .ranks = c.size});
    run_fused(c, call, call.send_buffer, call.recv_buffer, call.is_in_place, memo.size);
  }
  keep_time(entry, beginning, true);
  return Outcome::done;
}

// Nothing is to be packed, and no operator of the host's can fail.
Outcome Job::run_remembered_schedule(Communicator& c, const CallMemo& memo, const Call& call, int* error) {
  CallClass& entry = *memo.entry;
  const bool is_timed = (entry.calls++ & entry.sample_mask) == 0;
  entry.bytes += memo.size.bytes;
  const bool is_bcast = call.operation == Operation::bcast;
  const schedule::Data data{.input = call.send_buffer,
                            .output = is_bcast ? const_cast<void*>(call.send_buffer) : call.recv_buffer,
                            .elements = static_cast<std::int64_t>(memo.size.elements),
                            .element_bytes = memo.element_bytes,
                            .combine = memo.size.combine};
  const Beginning beginning(is_timed);
  {
    const InsideAlgorithm here(&entry, static_cast<std::int64_t>(memo.size.bytes),
                               {.call = &call, .ranks = c.size});
    *error = execute(c, call, *compiled(c, entry, call, call.is_in_place, memo.is_commutative), data);
  }
  keep_time(entry, beginning, *error == host::success);
  if (*error != host::success) [[unlikely]]
    *error = host_.call_error_handler(call.comm, *error);
  return Outcome::done;
}

bool Job::leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced) {
  if (!is_enabled_.load(std::memory_order_relaxed)) {
    leave(operation, NativeReason::disabled);
    return true;
  }
  Communicator* c = last_hit.find(this, handle, generation_.load(std::memory_order_acquire));
  if (c == nullptr) return false;
  if (c->queue != nullptr && c->queue->comes_before_blocking()) return false;
  const CallMemo& memo = c->memos[static_cast<int>(operation)].quick;
  if (!memo.is_of_all && (reduced == nullptr || !memo.is_left(*reduced))) return false;
  if (memo.entry->is_next_timed()) return false;
  ++memo.entry->calls;
  memo.entry->bytes += memo.size.bytes;
  ++c->calls;
  return true;
}

template <class Run>
Outcome Job::serve(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes, Run run_it,
                   int* error) {
  const bool is_timed = (entry.calls++ & entry.sample_mask) == 0;
  if (is_timed && entry.learner != nullptr) [[unlikely]] {
    const int batch = entry.learner->learner.batch_to_come();
    if (entry.calls == 1 || batch != 0) make_ready(c, entry, call, bytes, batch);
    align(c, *entry.learner, call);
  }
  entry.bytes += static_cast<std::uint64_t>(bytes);
  if (entry.kind == CallClass::Kind::native) {
    timed_native = &entry;
    return is_timed ? Outcome::native_timed : Outcome::native;
  }
  const bool is_verified = c.verify_interval != 0 && (entry.calls - 1) % c.verify_interval == 0 &&
                           call.operation != Operation::barrier;
  if (is_verified) [[unlikely]] {
    if (call.staging != nullptr) *error = call.staging->fetch();
    begin_verification(c, entry, call);
  }
  const Beginning beginning(is_timed);
  // The copies are part of what the call costs: the host needs none where it knows such memory.
  const bool is_staged = call.staging != nullptr && !is_verified;
  if (is_staged) *error = call.staging->fetch();
  if (*error == host::success) *error = run_it();
  if (is_staged && *error == host::success) *error = call.staging->deliver();
  keep_time(entry, beginning, *error == host::success);
  if (is_verified) [[unlikely]] {
    c.verification->own_error = *error;
    c.verification->keep_own();
    return Outcome::compared;
  }
  if (*error != host::success) [[unlikely]]
    *error = host_.call_error_handler(call.comm, *error);
  return Outcome::done;
}

// Where all ranks know all blocks, the mean one decides; elsewhere ranks have nothing in common that could.
Outcome Job::collective_of_blocks(Communicator& c, const Call& call, int* error) {
  const std::optional<std::int64_t> mean = call.staging == nullptr ? known_exchange(c, call) : std::nullopt;
  if (mean) [[likely]] {
    *error = exchange_again(c, call, *mean);
    return Outcome::done;
  }
  c.work.blocks.read(host_, call, c.rank, c.size, error);
  // The host says what is wrong.
  if (*error != host::success) return leave(call.operation, NativeReason::datatype);
  if (is_reduction(call.operation) && !host_.is_defined(call.op, call.send_blocks.type))
    return leave(call.operation, NativeReason::undefined_operator);
  std::int64_t bytes = 0;
  if (has_known_blocks(call.operation)) {
    bytes = c.work.blocks.mean_bytes();
    if (bytes == 0) return Outcome::done;
  }
  const bool may_exchange = is_commutative(c, call);
  CallClass& entry = class_of(c, call, may_exchange, bytes);
  const auto run_it = [&] { return run_blocks(c, entry, call, may_exchange, bytes); };
  const Outcome outcome = serve(c, entry, call, bytes, run_it, error);
  if (*error != host::success || !c.regions.is_constant()) return outcome;
  if (entry.kind == CallClass::Kind::native && !has_known_blocks(call.operation))
    c.memos[static_cast<int>(call.operation)].quick = {.entry = &entry, .is_of_all = true};
  if (entry.kind == CallClass::Kind::fused && c.verify_interval == 0) remember_blocks(c, entry, call, bytes);
  return outcome;
}

void Job::native_finished(const Call&, double seconds) {
  if (timed_native != nullptr) keep_time(*timed_native, seconds, 0, true);
  timed_native = nullptr;
}

void Job::keep_time(CallClass& entry, double seconds, double waited_s, bool is_well) {
  record_time(entry, seconds, waited_s);
  if (entry.learner == nullptr) return;
  if (entry.plain_looks > 0) {
    --entry.plain_looks;
    entry.learner->look_plainly(is_well ? seconds : -1);
    return;
  }
  const double start_s = now_s();
  entry.learner->look(is_well ? seconds : -1);
  entry.learner->overhead_s += now_s() - start_s;
}

void Job::remember(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
                   bool is_commutative) {
  const auto is_plain = [](const Side& side) {
    return side.count == 0 || (side.info.is_contiguous && side.info.element != ElementType::derived);
  };
  if (!is_plain(arguments.send) || !is_plain(arguments.recv)) return;
  shm::Combine combine;
  if (is_reduction(call.operation)) {
    combine = kernel_combine(host_, call.op, call.send_type, type_info(host_, call.send_type));
    if (combine.call == nullptr) return;
  }
  CallMemos& memos = c.memos[static_cast<int>(call.operation)];
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
  if (call.operation == Operation::barrier) memo.size.bytes = 0;
}

int Job::run(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
             bool is_commutative) {
  Transfer transfer(host_, call, arguments, c.rank, c.size, &c.work.packed_input, &c.work.packed_output);
  int error = transfer.prepare();
  if (error != host::success) return error;
  const auto run_with = [&](const shm::Combine& combine) {
    const InsideAlgorithm here(&entry, arguments.extent.bytes(), {.call = &call, .ranks = c.size});
    if (entry.kind == CallClass::Kind::scheduled) {
      const schedule::Data data{.input = transfer.input(),
                                .output = transfer.output(),
                                .elements = arguments.extent.elements,
                                .element_bytes = arguments.extent.element_bytes,
                                .combine = combine};
      return execute(c, call, *compiled(c, entry, call, transfer.is_in_place(), is_commutative), data);
    }
    run_fused(c, call, transfer.input(), transfer.output(), transfer.is_in_place(),
              fused_size(arguments.extent, combine));
    return host::success;
  };
  if (is_reduction(call.operation)) {
    const host::TypeInfo info = type_info(host_, call.send_type, &error);
    Operator op(host_, {call.send_type, call.op}, info, is_commutative);
    error = run_with(op.combine());
    if (error == host::success) error = op.error();
  } else {
    error = run_with({});
  }
  return error == host::success ? transfer.deliver() : error;
}

const std::shared_ptr<const schedule::Compiled>& Job::compiled(Communicator& c, CallClass& entry,
                                                               const Call& call, bool is_in_place,
                                                               bool is_commutative) {
  const int root = is_rooted(call.operation) ? call.root : 0;
  if (entry.compiled == nullptr || entry.compiled_root != root || entry.is_compiled_in_place != is_in_place) {
    schedule::Problem wanted = problem(c, call, is_commutative);
    wanted.is_in_place = is_in_place;
    const tuning::Choice& choice = *entry.choice;
    entry.compiled =
        c.cache->get({std::string(choice.name()), choice.parameters.values(), wanted.operation, wanted.root,
                      wanted.is_in_place, is_commutative},
                     [&] {
                       const InsideAlgorithm here(&entry, -1);
                       return schedule::compile(wanted, choice.algorithm->build(wanted, choice.parameters));
                     });
    entry.compiled_root = root;
    entry.is_compiled_in_place = is_in_place;
  }
  return entry.compiled;
}

schedule::Ground Job::ground(const Communicator& c) {
  return {.host = &host_,
          .comm = world_,
          .rank_in_comm = c.rank_in_world.data(),
          .tag_base = c.first_tag(),
          .slice = c.slice.get(),
          .wait = &c.wait,
          .others = {[](void* job) { static_cast<Job*>(job)->make_progress(); }, this}};
}

// Calls that do not block meet those that do neither in tags nor in shared memory: neither waits for the
// other.
schedule::Ground Job::ground_of_started(const Communicator& c) {
  schedule::Ground made = ground(c);
  made.tag_base = c.first_tag_of_started();
  if (c.started_slice != nullptr) made.slice = c.started_slice.get();
  return made;
}

int Job::execute(Communicator& c, const Call& call, const schedule::Compiled& what,
                 const schedule::Data& data) {
  const int error = c.work.executor.run(what, ground(c), data);
  if (error == schedule::error_single_copy) [[unlikely]]
    give_up_single_copy(call);
  return error;
}

// The kernel allowed it at set-up and refuses now; ranks that wait for this one cannot be told.
void Job::give_up_single_copy(const Call& call) {
  log::warning(
      "reading the memory of another rank failed, though it worked at the start: a buffer that the program "
      "gave there is no memory, or the kernel refuses now (UNISONO_SINGLE_COPY=0 does without)");
  host_.abort(call.comm, 1);
}

}  // namespace unisono::runtime
