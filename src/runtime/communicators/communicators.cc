// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/communicators.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/communicators/call_queue.h"
#include "runtime/communicators/freeing.h"
#include "runtime/communicators/set_up_aside.h"
#include "runtime/packing/transfer.h"

namespace unisono::runtime {
namespace {

// A communicator's free callback may come when the job is over (COMM_WORLD's, in MPI_Finalize), so it carries
// a number, not an address.
struct Tokens {
  Mutex mutex;
  std::map<std::uint64_t, Communicators*> tables UNISONO_GUARDED_BY(mutex);
  std::uint64_t next UNISONO_GUARDED_BY(mutex) = 1;
};
Tokens& tokens() {
  static Tokens* all = new Tokens;  // never destroyed: callbacks may come after static destructors
  return *all;
}

}  // namespace

Communicator* Communicators::find_anew(host::Comm handle, std::uint64_t generation, Occasion occasion) {
  Communicator* c = find_known(handle);
  if (c == nullptr) c = make(handle, occasion);
  regions_.enter(*c);
  this_thread.last_hit = {this, static_cast<std::uintptr_t>(handle), generation, c};
  return c;
}

Communicator* Communicators::find_for_started(host::Comm handle) {
  Communicator* c = find_known(handle);
  return c != nullptr ? c : make(handle, Occasion::started_call);
}

void Communicators::set_up_early(host::Comm handle) {
  if (find_known(handle) == nullptr && set_up_.spans_nodes(handle)) make(handle, Occasion::making);
}

Communicator* Communicators::find_known(host::Comm handle) {
  const Freeing* freeing = find_freeing(handle);
  if (freeing != nullptr && freeing->table == this) [[unlikely]]
    return freeing->state.get();
  const LockGuard lock(mutex_);
  const auto found = table_.find(static_cast<std::uintptr_t>(handle));
  return found == table_.end() ? nullptr : found->second.get();
}

std::vector<Communicator*> Communicators::all() const {
  const LockGuard lock(mutex_);
  std::vector<Communicator*> all;
  for (const auto& [handle, c] : table_) all.push_back(c.get());
  return all;
}

void Communicators::clear() {
  // They end without the lock, like any other.
  std::map<std::uintptr_t, std::unique_ptr<Communicator>> ending;
  {
    const LockGuard lock(mutex_);
    ending.swap(table_);
  }
  look_again();
}

// Calls that do not block come without a set-up at first, whatever they are.
NativeReason Communicators::set_up_first(Communicator& c, Occasion occasion) {
  if (world_.host.is_intercommunicator(c.handle)) return NativeReason::intercommunicator;
  if (c.size == 1) return NativeReason::one_rank;
  if (occasion == Occasion::start_of_job) return set_up_.begin(c);
  if (occasion == Occasion::making) return set_up_.run(c);
  if (occasion == Occasion::started_call || may_wait_with_set_up(c.handle)) return NativeReason::few_calls;
  return set_up_.run(c);
}

Communicator* Communicators::make(host::Comm handle, Occasion occasion) {
  auto made = std::make_unique<Communicator>();
  Communicator& c = *made;
  c.handle = handle;
  c.name = world_.host.comm_name(handle);
  c.rank = world_.host.comm_rank(handle);
  c.size = world_.host.comm_size(handle);
  c.native_reason = set_up_first(c, occasion);
  const bool is_set_up_aside =
      occasion == Occasion::started_call && c.native_reason == NativeReason::few_calls;
  set_up_.say_who_decides_order(c, is_set_up_aside ? NativeReason::being_set_up : c.native_reason);
  if (Freeing* freeing = find_freeing(handle); freeing != nullptr && freeing->table == this) {
    freeing->state = std::move(made);
    return &c;
  }
  {
    const LockGuard lock(mutex_);
    table_[static_cast<std::uintptr_t>(handle)] = std::move(made);
  }
  watch_end(c);
  return &c;
}

bool Communicators::may_wait_with_set_up(host::Comm handle) const {
  return set_up_.may_wait() && handle != world_.host.world() && !world_.host.has_hints(handle);
}

// Another call on a communicator that had few. What it counts for is the same on all ranks, and so is where
// the set-up takes place.
bool Communicators::is_early(Communicator& c, const Call& call) {
  c.left.early_weight += early_weight(call, c);
  if (c.left.early_weight >= world_.options.set_up_after || !may_wait_with_set_up(c.handle)) return false;
  ++c.left.early_calls[static_cast<std::size_t>(call.operation)];
  return true;
}

bool Communicators::is_set_up_now(Communicator& c, const Call& call) {
  if (c.aside == nullptr && is_early(c, call)) return false;
  c.native_reason = set_up_.run(c);
  if (c.native_reason == NativeReason::none) return true;
  ++c.left.calls[static_cast<std::size_t>(call.operation)];
  return false;
}

// Long messages gain more. Of uneven blocks ranks may know their own alone.
std::int64_t Communicators::early_weight(const Call& call, const Communicator& c) const {
  constexpr std::int64_t bytes_per_call = 4096;
  if (!moves_data(call.operation) || has_uneven_blocks(call.operation)) return 1;
  int error = host::success;
  const Arguments arguments = read_arguments(world_.host, call, c.rank, c.size, &error);
  return error == host::success ? 1 + arguments.extent.bytes() / bytes_per_call : 1;
}

bool Communicators::is_taken_before_set_up(Communicator& c, const Call& call) {
  using State = SetUpAside::State;
  if (c.aside == nullptr) {
    if (is_early(c, call)) return false;
    set_up_.begin_aside(c);
  }
  SetUpAside& aside = *c.aside;
  if (aside.state == State::past) return true;
  set_up_.look_at_offers(c, aside.calls++);
  if (aside.state == State::joined && aside.switch_point->is_past(aside.calls, c.size)) {
    aside.state = State::past;
    return true;
  }
  gate_.leave(call.operation, aside.reason);
  return false;
}

void Communicators::watch_end(Communicator& c) {
  {
    const LockGuard lock(tokens().mutex);
    c.token = tokens().next++;
    tokens().tables[c.token] = this;
  }
  if (world_.host.on_comm_free(c.handle, &Communicators::on_freed,
                               reinterpret_cast<void*>(static_cast<std::uintptr_t>(c.token))) !=
      host::success) {
    log::warning_once("a communicator's end cannot be watched; its memory is kept until the program ends");
  }
}

void Communicators::forget_watches() {
  const LockGuard lock(tokens().mutex);
  std::erase_if(tokens().tables, [this](const auto& entry) { return entry.second == this; });
}

void Communicators::on_freed(void* token) {
  // The host calls this, and no exception may pass through it.
  const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(token));
  Communicators* table = nullptr;
  {
    const LockGuard lock(tokens().mutex);
    const auto found = tokens().tables.find(number);
    if (found == tokens().tables.end()) return;
    table = found->second;
    tokens().tables.erase(found);
  }
  try {
    table->drop(number, true);
  } catch (const PeerLost&) {
    table->world_.has_lost_peer = true;
  }
}

// Nothing is found of one that end_freeing() ends.
void Communicators::drop(std::uint64_t token, bool is_freed) {
  host::Comm handle{};
  {
    const LockGuard lock(mutex_);
    const auto found = std::find_if(table_.begin(), table_.end(),
                                    [&](const auto& entry) { return entry.second->token == token; });
    if (found == table_.end()) return;
    handle = found->second->handle;
  }
  end_calls(handle);
  bury(take(handle), is_freed);
}

void Communicators::forget(host::Comm comm) {
  std::uint64_t token = 0;
  {
    const LockGuard lock(mutex_);
    const auto found = table_.find(static_cast<std::uintptr_t>(comm));
    if (found == table_.end()) return;
    token = found->second->token;
  }
  {
    const LockGuard lock(tokens().mutex);
    tokens().tables.erase(token);
  }
  drop(token, false);
}

// Freeing a communicator is collective: the other ranks' part of the calls under way comes too.
void Communicators::end_calls(Communicator& c) {
  set_up_.end_aside(c);
  drain(c, progress_);
}

void Communicators::end_calls(host::Comm handle) {
  Communicator* c = find_known(handle);
  if (c != nullptr) end_calls(*c);
}

std::unique_ptr<Communicator> Communicators::take(host::Comm handle) {
  const LockGuard lock(mutex_);
  const auto found = table_.find(static_cast<std::uintptr_t>(handle));
  if (found == table_.end()) return nullptr;
  std::unique_ptr<Communicator> c = std::move(found->second);
  table_.erase(found);
  look_again();
  return c;
}

void Communicators::bury(std::unique_ptr<Communicator> c, bool is_freed) {
  if (c == nullptr) return;
  for (const EndHook& hook : end_hooks_) hook(*c, is_freed);
  set_up_.release_identifier(*c);
}

void Communicators::begin_freeing(host::Comm handle) {
  end_calls(handle);
  Freeing& freeing = freeing_of(handle);
  // Where an error handler has left an earlier attempt by longjmp the state is here already.
  if (freeing.table == this) return;
  freeing.table = this;
  freeing.state = take(handle);
}

// A callback that refuses leaves the communicator to the program, perhaps without our watch.
void Communicators::end_freeing(host::Comm handle, bool is_freed) {
  Freeing* freeing = find_freeing(handle);
  if (freeing == nullptr || freeing->table != this) return;
  std::unique_ptr<Communicator> c = std::move(freeing->state);
  forget_freeing(handle);
  this_thread.last_hit = {};
  if (c == nullptr) return;
  if (is_freed) {
    end_calls(*c);
    {
      const LockGuard lock(tokens().mutex);
      tokens().tables.erase(c->token);
    }
    return bury(std::move(c), true);
  }
  Communicator& kept = *c;
  {
    const LockGuard lock(mutex_);
    table_[static_cast<std::uintptr_t>(handle)] = std::move(c);
  }
  bool is_watched = false;
  {
    const LockGuard lock(tokens().mutex);
    is_watched = tokens().tables.contains(kept.token);
  }
  if (!is_watched) watch_end(kept);
}

int Communicators::end_with_lost_peer(host::Comm handle, const PeerLost& lost, std::string_view where) {
  world_.has_lost_peer = true;
  log::error("rank " + std::to_string(lost.rank) + " of MPI_COMM_WORLD (process " +
             std::to_string(lost.process_id) + " of this host) has died; rank " +
             std::to_string(world_.rank) + " waited for it in " + std::string(where));
  if (Communicator* c = find_known(handle)) c->native_reason = NativeReason::peer_lost;
  return world_.host.call_error_handler(handle, world_.host.rank_has_died());
}

}  // namespace unisono::runtime
