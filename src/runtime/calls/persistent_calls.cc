// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/calls/persistent_calls.h"

#include <utility>

#include "runtime/engines/call_timing.h"

namespace unisono::runtime {

PersistentPlace::PersistentPlace(PersistentCalls* of) : owner(of), state(std::make_unique<Communicator>()) {}

PersistentPlace::~PersistentPlace() {
  if (owner != nullptr) owner->leave(*this);
}

PreparedCall::~PreparedCall() {
  if (owner != nullptr) owner->end(*this);
}

namespace {

// All that goes through the memory of a node; 0: not known to all.
std::int64_t total_bytes(const PreparedCall& made, int ranks) {
  if (!moves_data(made.call.operation)) return 1;
  // What decides is no length of this call then.
  if (has_uneven_blocks(made.call.operation) && !has_known_blocks(made.call.operation)) return 0;
  return is_block_operation(made.call.operation) ? made.bytes * ranks : made.bytes;
}

struct Needs {
  bool tags = true, memory = true;
};
// Of an algorithm, the same on all ranks. Where calls are checked they agree in between. Neighbours send long
// blocks as messages on one node, too.
Needs needs_of(const algorithms::Descriptor& algorithm, bool is_checked) {
  const bool has_header = algorithm.build_header || algorithm.build_tree_header;
  return {.tags = is_checked || !algorithm.legality.needs_one_node || is_neighborhood(algorithm.operation),
          .memory = is_checked || has_header || algorithm.legality.needs_shared_memory};
}

// The graph of a communicator may be set up after a place for its persistent calls.
void take_neighborhood(Communicator& place, const Communicator& c) {
  if (Neighborhoods::is_set_up(c) && !Neighborhoods::is_set_up(place))
    place.node.neighborhood = std::make_unique<NeighborhoodState>(*c.node.neighborhood);
}

}  // namespace

// What comes before the ranks have a word with each other on a call. Null where all calls on the communicator
// are the host's.
Communicator* PersistentCalls::come_to(host::Comm handle, NativeReason* reason) {
  Communicator* c = communicators_.find(handle);
  // What is made to be repeated pays for a set-up.
  if (c->native_reason == NativeReason::few_calls) c->native_reason = set_up_.run(*c);
  *reason = c->native_reason;
  if (*reason != NativeReason::none) return nullptr;
  if (c->checking.interval != 0) checks_.take_up_quarantine(*c);
  return c;
}

// A call that one rank's host refuses is the host's on all ranks: else they would wait for that rank.
PersistentCalls::Vote PersistentCalls::vote(Communicator& c, bool is_refused) const {
  std::uint64_t words[] = {is_refused ? 1u : 0u, world_.host.has_ordered_persistent(c.handle) ? 0u : 1u};
  const int error = world_.host.agree(words, 2, host::AgreeOp::max, c.handle);
  return {.is_for_host = error != host::success || words[0] != 0, .is_ordered = words[1] == 0};
}

void PersistentCalls::refuse(host::Comm handle) {
  NativeReason reason{};
  if (!gate_.is_open()) return;
  if (Communicator* c = come_to(handle, &reason); c != nullptr) vote(*c, true);
}

Prepared PersistentCalls::prepare(const Call& call) {
  const auto left_for = [&](NativeReason reason) {
    return Prepared{.host_starts = starts_of_host(call.operation, reason)};
  };
  if (!gate_.is_open()) return left_for(NativeReason::disabled);
  if (call.may_outlive) return left_for(NativeReason::of_session);
  NativeReason reason{};
  Communicator* c = come_to(call.comm, &reason);
  if (c == nullptr) return left_for(reason);
  if (is_neighborhood(call.operation) && !neighborhoods_.is_ready_now(*c, call))
    return left_for(c->node.neighborhood->reason);
  auto made = std::make_shared<PreparedCall>();
  Prepared prepared;
  const Decided decided = decide(*c, call, made.get(), &prepared);
  // What was decided before all had the communicator's number may differ between ranks.
  const Vote voted = vote(*c, decided == Decided::refused || decided == Decided::native);
  if (decided == Decided::refused) return {};  // the host says what is wrong with it
  if (decided == Decided::native) return prepared;
  if (voted.is_for_host) return left_for(NativeReason::no_place);
  if (decided == Decided::scheduled) {
    made->place = place_for(*c, *made, voted.is_ordered);
    if (made->place == nullptr) return left_for(NativeReason::no_place);
    made->owner = this;
    prepared_.lock()->insert(made.get());
  }
  return {.outcome = Outcome::done, .call = std::move(made)};
}

// The decision holds for good. Ranks make such calls in one order, and start them in any.
PersistentCalls::Decided PersistentCalls::decide(Communicator& c, const Call& call, PreparedCall* made,
                                                 Prepared* prepared) {
  const LockGuard lock(queues_.mutex());
  StartedCall* started = nullptr;
  using Start = StartedCalls::Start;
  const Start what = started_.look_at(&c, call, &started);
  made->call = call;
  if (what == Start::nothing_to_do) return Decided::nothing_to_do;
  if (what == Start::native) {
    const bool is_left = started->left_for != NativeReason::none;
    if (started->left_for == NativeReason::datatype || started->left_for == NativeReason::undefined_operator)
      return Decided::refused;
    const auto records = records_.lock();
    if (is_left) {
      prepared->host_starts = records->starts_of_host(call.operation, started->left_for);
    } else {
      prepared->host_starts = records->starts_of_host(c, call.operation, tuning::size_class(started->bytes),
                                                      *started->entry->choice);
      prepared->bytes = static_cast<std::uint64_t>(started->bytes);
    }
    return Decided::native;
  }
  made->bytes = started->bytes;
  made->is_commutative = started->is_commutative;
  made->entry.kind = started->entry->kind;
  made->entry.choice = std::make_unique<tuning::Choice>(*started->entry->choice);
  // Compiled now: a start may come while another thread is inside a collective of the communicator.
  const bool is_uneven = has_uneven_blocks(call.operation) && !is_neighborhood(call.operation);
  const bool is_in_place =
      is_uneven ? started->work->blocks.is_in_place() : call.is_in_place && !needs_copy(call);
  Schedules::compiled(c, made->entry, call, is_in_place, made->is_commutative);
  schedule::Data told;
  if (has_uneven_blocks(call.operation)) Schedules::header(c, made->entry, call, false, started->work, &told);
  return Decided::scheduled;
}

// Null where there is no room, on all ranks alike.
std::shared_ptr<PersistentPlace> PersistentCalls::place_for(Communicator& c, const PreparedCall& made,
                                                            bool is_ordered) {
  if (is_ordered && c.persistent.ordered != nullptr) {
    take_neighborhood(*c.persistent.ordered->state, c);
    return c.persistent.ordered;
  }
  if (c.persistent.starts == nullptr) c.persistent.starts = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto place = std::make_shared<PersistentPlace>(this);
  if (!settle_in(*place, c, is_ordered ? nullptr : &made)) return nullptr;
  if (is_ordered) c.persistent.ordered = place;
  return place;
}

// `made`: null where the place is to serve all persistent calls of the communicator.
bool PersistentCalls::settle_in(PersistentPlace& place, Communicator& c, const PreparedCall* made) {
  Communicator& p = *place.state;
  p.handle = c.handle;
  p.rank = c.rank;
  p.size = c.size;
  p.name = c.name;
  p.layout = c.layout;
  p.rank_in_world = c.rank_in_world;
  p.is_oversubscribed = c.is_oversubscribed;
  p.node.wait = c.node.wait;
  set_up_.watch_peers(p);
  p.checking.interval = c.checking.interval;
  p.checking.quarantined = c.checking.quarantined;
  p.persistent.starts = c.persistent.starts;
  take_neighborhood(p, c);
  p.cache = std::make_unique<schedule::Cache>(static_cast<std::size_t>(world_.options.cache_bytes));
  p.queue = std::make_unique<CallQueue>();
  const bool is_checked = c.checking.interval != 0;
  const Needs needs = made == nullptr ? Needs{} : needs_of(*made->entry.choice->algorithm, is_checked);
  if (needs.tags &&
      set_up_.agree_on_identifier(p, true, Identifiers::Use::persistent_call) != NativeReason::none)
    return false;
  p.has_single_copy = c.has_single_copy;
  p.is_reproducible = c.is_reproducible;
  const std::int64_t bytes = made == nullptr ? 0 : total_bytes(*made, c.size);
  if (needs.memory && c.node.slice != nullptr && !slices_.attach_place(p, bytes)) return false;
  // The host makes the calls that are checked, and is not to mix them up with those of other requests.
  host::Comm apart{};
  if (!is_checked) return true;
  if (world_.host.comm_split(c.handle, 0, c.rank, &apart) != host::success) return false;
  place.apart = apart;
  return true;
}

Outcome PersistentCalls::start(const std::shared_ptr<PreparedCall>& made, const Completion& completion,
                               HostPart** host) {
  if (made->place == nullptr) {
    completion.call(completion.context, host::success);
    return Outcome::done;
  }
  UniqueLock lock(queues_.mutex());
  if (made->place->state == nullptr) return Outcome::native;
  Communicator& c = *made->place->state;
  StartedCall* started = StartedCalls::take(&c, made->call);
  started->prepared = made;
  started->entry = &made->entry;
  started->bytes = made->bytes;
  started->is_commutative = made->is_commutative;
  started->verified.comm = made->place->apart;
  started->work->slice = c.node.slice.get();
  started_.read(started, &started->error);
  CallTiming::count(made->entry, static_cast<std::uint64_t>(made->bytes));
  c.persistent.starts->fetch_add(1, std::memory_order_relaxed);
  const StartedCalls::Launched launched = started_.launch(started, completion, host);
  lock.unlock();
  return started_.let_go(launched, completion);
}

std::shared_ptr<HostStarts> PersistentCalls::starts_of_host(Operation operation, NativeReason reason) {
  return records_.lock()->starts_of_host(operation, reason);
}

void PersistentCalls::end(PreparedCall& call) {
  const auto prepared = prepared_.lock();
  if (prepared->erase(&call) != 0) absorb(call);
}

void PersistentCalls::absorb(const PreparedCall& call) {
  records_.lock()->absorb(*call.place->state, call.call.operation, tuning::size_class(call.bytes), call.entry,
                          CallForm::persistent);
}

// Ranks come here at different times. The slice goes with the last one of a node. A number is taken again
// only when all who have to do with it have given it back.
void PersistentCalls::leave(PersistentPlace& place) {
  started_checks_.say_findings(*place.state);
  set_up_.release_identifier(*place.state);
  if (place.apart) world_.host.comm_free(&*place.apart);
}

void PersistentCalls::mark_freed(host::Comm handle) {
  const auto prepared = prepared_.lock();
  for (const PreparedCall* call : *prepared) {
    Communicator& state = *call->place->state;
    if (state.handle == handle) state.is_freed.store(true, std::memory_order_relaxed);
  }
}

void PersistentCalls::end_all() {
  std::set<std::shared_ptr<PersistentPlace>> places;
  {
    const auto prepared = prepared_.lock();
    for (PreparedCall* call : std::exchange(*prepared, {})) {
      absorb(*call);
      call->owner = nullptr;
      places.insert(call->place);
    }
  }
  for (const auto& place : places) {
    leave(*place);
    place->owner = nullptr;
    place->state.reset();
  }
}

}  // namespace unisono::runtime
