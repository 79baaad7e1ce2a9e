// SPDX-License-Identifier: BSD-3-Clause
// The end of a communicator. The program frees it by the host's MPI_Comm_free, which first calls the delete
// callbacks of its attributes; those may use it like any other. So its state stays until the host returns,
// but known to the freeing thread alone: the host may give the handle to another thread's communicator at
// once. Where the host ends a communicator by itself, an attribute's delete callback of ours ends its state.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/call_queue.h"
#include "runtime/job.h"
#include "runtime/peers.h"
#include "runtime/persistent.h"
#include "runtime/set_up_aside.h"

namespace unisono::runtime {
namespace {

// A communicator's free callback may come when the job is over (COMM_WORLD's, in MPI_Finalize), so it carries
// a number, not an address.
struct Tokens {
  std::mutex mutex;
  std::map<std::uint64_t, Job*> jobs;
  std::uint64_t next = 1;
};
Tokens& tokens() {
  static Tokens* all = new Tokens;  // never destroyed: callbacks may come after static destructors
  return *all;
}

// A communicator that the host is freeing for this thread. Callbacks may free others meanwhile.
struct Ending {
  const Job* job = nullptr;
  host::Comm handle{};
  std::unique_ptr<Communicator> state;  // null: no call has come on it
};
std::vector<Ending>& endings() {
  thread_local std::vector<Ending> all;
  return all;
}

Ending* ending_of(const Job* job, host::Comm handle) {
  std::vector<Ending>& all = endings();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Ending& ending) {
    return ending.job == job && ending.handle == handle;
  });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace

void Job::watch_end(Communicator& c) {
  {
    const std::lock_guard lock(tokens().mutex);
    c.token = tokens().next++;
    tokens().jobs[c.token] = this;
  }
  if (host_.on_comm_free(c.handle, &Job::on_freed,
                         reinterpret_cast<void*>(static_cast<std::uintptr_t>(c.token))) != host::success) {
    log::warning_once("a communicator's end cannot be watched; its memory is kept until the program ends");
  }
}

void Job::forget_watches() {
  const std::lock_guard lock(tokens().mutex);
  std::erase_if(tokens().jobs, [this](const auto& entry) { return entry.second == this; });
}

void Job::on_freed(void* token) {
  // The host calls this, and no exception may pass through it.
  const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(token));
  Job* job = nullptr;
  {
    const std::lock_guard lock(tokens().mutex);
    const auto found = tokens().jobs.find(number);
    if (found == tokens().jobs.end()) return;
    job = found->second;
    tokens().jobs.erase(found);
  }
  try {
    job->drop(number, true);
  } catch (const PeerLost&) {
    job->has_lost_peer_ = true;
  }
}

// Nothing is found of one that end_freeing() ends.
void Job::drop(std::uint64_t token, bool is_freed) {
  host::Comm handle{};
  {
    const std::lock_guard lock(table_mutex_);
    const auto found = std::find_if(table_.begin(), table_.end(),
                                    [&](const auto& entry) { return entry.second->token == token; });
    if (found == table_.end()) return;
    handle = found->second->handle;
  }
  end_calls(handle);
  bury(take_from_table(handle), is_freed);
}

void Job::forget(host::Comm comm) {
  std::uint64_t token = 0;
  {
    const std::lock_guard lock(table_mutex_);
    const auto found = table_.find(static_cast<std::uintptr_t>(comm));
    if (found == table_.end()) return;
    token = found->second->token;
  }
  {
    const std::lock_guard lock(tokens().mutex);
    tokens().jobs.erase(token);
  }
  drop(token, false);
}

// Freeing a communicator is collective: the other ranks' part of the calls under way comes too.
void Job::end_calls(Communicator& c) {
  end_set_up_aside(c);
  drain(c);
}

void Job::end_calls(host::Comm handle) {
  Communicator* c = find_set_up(handle);
  if (c != nullptr) end_calls(*c);
}

std::unique_ptr<Communicator> Job::take_from_table(host::Comm handle) {
  const std::lock_guard lock(table_mutex_);
  const auto found = table_.find(static_cast<std::uintptr_t>(handle));
  if (found == table_.end()) return nullptr;
  std::unique_ptr<Communicator> c = std::move(found->second);
  table_.erase(found);
  generation_.fetch_add(1, std::memory_order_release);
  return c;
}

void Job::bury(std::unique_ptr<Communicator> c, bool is_freed) {
  if (c == nullptr) return;
  say_findings(*c);
  const std::shared_ptr<PersistentPlace> ordered = std::move(c->ordered);  // ends outside of the lock
  const std::lock_guard lock(table_mutex_);
  records_.absorb(*c);
  if (c->id >= 0) identifiers_.release(c->id);
  if (is_freed) mark_freed(c->handle);
}

void Job::begin_freeing(host::Comm handle) {
  end_calls(handle);
  endings().push_back({this, handle, take_from_table(handle)});
}

// A callback that refuses leaves the communicator to the program, perhaps without our watch.
void Job::end_freeing(host::Comm handle, bool is_freed) {
  Ending* ending = ending_of(this, handle);
  if (ending == nullptr) return;
  std::unique_ptr<Communicator> c = std::move(ending->state);
  endings().erase(endings().begin() + (ending - endings().data()));
  forget_last_hit();
  if (c == nullptr) return;
  if (is_freed) {
    end_calls(*c);
    {
      const std::lock_guard lock(tokens().mutex);
      tokens().jobs.erase(c->token);
    }
    return bury(std::move(c), true);
  }
  Communicator& kept = *c;
  {
    const std::lock_guard lock(table_mutex_);
    table_[static_cast<std::uintptr_t>(handle)] = std::move(c);
  }
  bool is_watched = false;
  {
    const std::lock_guard lock(tokens().mutex);
    is_watched = tokens().jobs.contains(kept.token);
  }
  if (!is_watched) watch_end(kept);
}

Communicator* Job::find_ending(host::Comm handle, bool* is_ending) const {
  if (endings().empty()) return nullptr;
  const Ending* ending = ending_of(this, handle);
  *is_ending = ending != nullptr;
  return ending == nullptr ? nullptr : ending->state.get();
}

bool Job::keep_ending(std::unique_ptr<Communicator>* c) {
  Ending* ending = ending_of(this, (*c)->handle);
  if (ending == nullptr) return false;
  ending->state = std::move(*c);
  return true;
}

}  // namespace unisono::runtime
