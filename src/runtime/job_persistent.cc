// SPDX-License-Identifier: BSD-3-Clause
// Persistent calls: from MPI_..._init, where ranks agree on a place for each, to the end of their requests.
#include <algorithm>
#include <utility>

#include "runtime/job.h"
#include "runtime/learning.h"
#include "runtime/persistent.h"
#include "runtime/set_up_aside.h"

namespace unisono::runtime {

PersistentPlace::PersistentPlace(Job* of) : job(of), state(std::make_unique<Communicator>()) {}

PersistentPlace::~PersistentPlace() {
  if (job != nullptr) job->leave_place(*this);
}

PreparedCall::~PreparedCall() {
  if (job != nullptr) job->end_prepared(*this);
}

namespace {

// All that goes through the memory of a node; 0: not known to all.
std::int64_t total_bytes(const PreparedCall& made, int ranks) {
  if (!moves_data(made.call.operation)) return 1;
  return is_block_operation(made.call.operation) ? made.bytes * ranks : made.bytes;
}

struct Needs {
  bool tags = true, memory = true;
};
// Of an algorithm, the same on all ranks. Where calls are checked they agree in between.
Needs needs_of(const algorithms::Descriptor& algorithm, bool is_checked) {
  const bool has_header = algorithm.build_header || algorithm.build_tree_header;
  return {.tags = is_checked || !algorithm.legality.needs_one_node,
          .memory = is_checked || has_header || algorithm.legality.needs_shared_memory};
}

}  // namespace

// What comes before the ranks have a word with each other on a call. Null where all calls on the communicator
// are the host's.
Communicator* Job::come_to_persistent(host::Comm handle, NativeReason* reason) {
  Communicator* c = find(handle);
  // What is made to be repeated pays for a set-up.
  if (c->native_reason == NativeReason::few_calls) c->native_reason = set_up_members(*c);
  *reason = c->native_reason;
  if (*reason != NativeReason::none) return nullptr;
  if (c->verify_interval != 0) take_up_quarantine(*c);
  return c;
}

// What calls in other places have found wrong since.
void Job::take_up_quarantine(Communicator& c) {
  const auto before = c.quarantined.size();
  if (!agree_on_quarantine(c) || c.quarantined.size() == before) return;
  leave_out_quarantined(c);
}

// A call that one rank's host refuses is the host's on all ranks: else they would wait for that rank.
Job::Vote Job::vote_on_persistent(Communicator& c, bool is_refused) {
  std::uint64_t words[] = {is_refused ? 1u : 0u, host_.has_ordered_persistent(c.handle) ? 0u : 1u};
  const int error = host_.agree(words, 2, host::AgreeOp::max, c.handle);
  return {.is_for_host = error != host::success || words[0] != 0, .is_ordered = words[1] == 0};
}

void Job::refuse_persistent(host::Comm handle) {
  NativeReason reason{};
  if (!is_enabled_.load(std::memory_order_relaxed)) return;
  if (Communicator* c = come_to_persistent(handle, &reason); c != nullptr) vote_on_persistent(*c, true);
}

Prepared Job::prepare(const Call& call) {
  const auto left_for = [&](NativeReason reason) {
    return Prepared{.host_starts = starts_of_host(call.operation, reason)};
  };
  if (!is_enabled_.load(std::memory_order_relaxed)) return left_for(NativeReason::disabled);
  if (call.may_outlive) return left_for(NativeReason::of_session);
  NativeReason reason{};
  Communicator* c = come_to_persistent(call.comm, &reason);
  if (c == nullptr) return left_for(reason);
  auto made = std::make_shared<PreparedCall>();
  Prepared prepared;
  const Decided decided = decide_prepared(*c, call, made.get(), &prepared);
  // What was decided before all had the communicator's number may differ between ranks.
  const Vote vote = vote_on_persistent(*c, decided == Decided::refused || decided == Decided::native);
  if (decided == Decided::refused) return {};  // the host says what is wrong with it
  if (decided == Decided::native) return prepared;
  if (vote.is_for_host) return left_for(NativeReason::no_place);
  if (decided == Decided::scheduled) {
    made->place = place_for(*c, *made, vote.is_ordered);
    if (made->place == nullptr) return left_for(NativeReason::no_place);
    made->job = this;
    const std::lock_guard lock(table_mutex_);
    prepared_.insert(made.get());
  }
  return {.outcome = Outcome::done, .call = std::move(made)};
}

// The decision holds for good. Ranks make such calls in one order, and start them in any.
Job::Decided Job::decide_prepared(Communicator& c, const Call& call, PreparedCall* made, Prepared* prepared) {
  const std::lock_guard lock(progress_mutex_);
  StartedCall* started = nullptr;
  const Start what = look_at(&c, call, &started);
  made->call = call;
  if (what == Start::nothing_to_do) return Decided::nothing_to_do;
  if (what == Start::native) {
    const bool is_left = started->left_for != NativeReason::none;
    if (started->left_for == NativeReason::datatype || started->left_for == NativeReason::undefined_operator)
      return Decided::refused;
    const std::lock_guard records_lock(table_mutex_);
    if (is_left) {
      prepared->host_starts = records_.starts_of_host(call.operation, started->left_for);
    } else {
      prepared->host_starts = records_.starts_of_host(c, call.operation, tuning::size_class(started->bytes),
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
  const bool is_in_place = has_uneven_blocks(call.operation) ? started->work.blocks.is_in_place()
                                                             : call.is_in_place && !needs_copy(call);
  compiled(c, made->entry, call, is_in_place, made->is_commutative);
  schedule::Data told;
  if (has_uneven_blocks(call.operation)) header(c, made->entry, call, false, &started->work, &told);
  return Decided::scheduled;
}

// Null where there is no room, on all ranks alike.
std::shared_ptr<PersistentPlace> Job::place_for(Communicator& c, const PreparedCall& made, bool is_ordered) {
  if (is_ordered && c.ordered != nullptr) return c.ordered;
  if (c.persistent_starts == nullptr) c.persistent_starts = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto place = std::make_shared<PersistentPlace>(this);
  if (!settle_in(*place, c, is_ordered ? nullptr : &made)) return nullptr;
  if (is_ordered) c.ordered = place;
  return place;
}

// `made`: null where the place is to serve all persistent calls of the communicator.
bool Job::settle_in(PersistentPlace& place, Communicator& c, const PreparedCall* made) {
  Communicator& p = *place.state;
  p.handle = c.handle;
  p.rank = c.rank;
  p.size = c.size;
  p.name = c.name;
  p.layout = c.layout;
  p.rank_in_world = c.rank_in_world;
  p.is_oversubscribed = c.is_oversubscribed;
  p.wait = c.wait;
  watch_peers(p);
  p.verify_interval = c.verify_interval;
  p.quarantined = c.quarantined;
  p.persistent_starts = c.persistent_starts;
  p.cache = std::make_unique<schedule::Cache>(static_cast<std::size_t>(options_.cache_bytes));
  p.queue = std::make_unique<CallQueue>();
  const bool is_checked = c.verify_interval != 0;
  const Needs needs = made == nullptr ? Needs{} : needs_of(*made->entry.choice->algorithm, is_checked);
  if (needs.tags && agree_on_identifier(p, true, Identifiers::Use::persistent_call) != NativeReason::none)
    return false;
  p.has_single_copy = c.has_single_copy;
  p.is_reproducible = c.is_reproducible;
  const std::int64_t bytes = made == nullptr ? 0 : total_bytes(*made, c.size);
  if (needs.memory && c.slice != nullptr &&
      !attach(p, [&](int windows) { return reserve_place(p, bytes, windows); })) {
    say_pool_is_full("persistent collectives that have no place of their own are the MPI's");
    return false;
  }
  // The host makes the calls that are checked, and is not to mix them up with those of other requests.
  host::Comm apart{};
  if (!is_checked) return true;
  if (host_.comm_split(c.handle, 0, c.rank, &apart) != host::success) return false;
  place.apart = apart;
  return true;
}

Outcome Job::start_prepared(const std::shared_ptr<PreparedCall>& made, const Completion& completion,
                            HostPart** host) {
  if (made->place == nullptr) {
    completion.call(completion.context, host::success);
    return Outcome::done;
  }
  std::unique_lock lock(progress_mutex_);
  if (made->place->state == nullptr) return Outcome::native;
  Communicator& c = *made->place->state;
  StartedCall* started = take_started(&c, made->call);
  started->prepared = made;
  started->entry = &made->entry;
  started->bytes = made->bytes;
  started->is_commutative = made->is_commutative;
  read(started, &started->error);
  ++made->entry.calls;
  made->entry.bytes += static_cast<std::uint64_t>(made->bytes);
  c.persistent_starts->fetch_add(1, std::memory_order_relaxed);
  return launch(started, completion, host, &lock);
}

void Job::end_prepared(PreparedCall& call) {
  const std::lock_guard lock(table_mutex_);
  if (prepared_.erase(&call) != 0) absorb_prepared(call);
}

// Under the table's lock.
void Job::absorb_prepared(const PreparedCall& call) {
  records_.absorb(*call.place->state, call.call.operation, tuning::size_class(call.bytes), call.entry,
                  CallForm::persistent);
}

// Ranks come here at different times: the slice goes with the last one of a node, and a number is taken again
// only when all who have to do with it have given it back.
void Job::leave_place(PersistentPlace& place) {
  say_findings(*place.state);
  if (place.state->id >= 0) identifiers_.release(place.state->id);
  if (place.apart) host_.comm_free(&*place.apart);
}

bool is_communicator_freed(const PreparedCall& call) {
  if (call.place == nullptr || call.place->state == nullptr) return true;
  return call.place->state->is_freed.load(std::memory_order_relaxed);
}

// Under the table's lock.
void Job::mark_freed(host::Comm handle) {
  for (const PreparedCall* call : prepared_) {
    Communicator& state = *call->place->state;
    if (state.handle == handle) state.is_freed.store(true, std::memory_order_relaxed);
  }
}

// Requests may outlive the job.
void Job::end_all_prepared() {
  std::set<std::shared_ptr<PersistentPlace>> places;
  {
    const std::lock_guard lock(table_mutex_);
    for (PreparedCall* call : std::exchange(prepared_, {})) {
      absorb_prepared(*call);
      call->job = nullptr;
      places.insert(call->place);
    }
  }
  for (const auto& place : places) {
    leave_place(*place);
    place->job = nullptr;
    place->state.reset();
  }
}

}  // namespace unisono::runtime
