// SPDX-License-Identifier: BSD-3-Clause
// The job's communicators by their handles: from their first call until the program frees them.
//
// The program frees one by the host's MPI_Comm_free, which first calls the delete callbacks of its
// attributes; those may use it like any other. So its state stays until the host returns (freeing.h), known
// to the freeing thread alone: the host may give the handle to another thread's communicator at once. Where
// the host ends a communicator by itself, an attribute's delete callback of ours ends its state.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "runtime/call/gate.h"
#include "runtime/call/this_thread.h"
#include "runtime/communicators/communicator.h"
#include "runtime/communicators/regions.h"
#include "runtime/communicators/set_up.h"

namespace unisono::runtime {

class Communicators {
 public:
  Communicators(const World& world, Progress& progress, Gate& gate, Regions& regions, SetUp& set_up)
      : world_(world), progress_(progress), gate_(gate), regions_(regions), set_up_(set_up) {}
  Communicators(const Communicators&) = delete;

  // The program's world, where MPI_Init sets it up: all ranks do, as the first one.
  Communicator* begin(host::Comm world) {
    return find_anew(world, generation_.load(std::memory_order_acquire), Occasion::start_of_job);
  }
  // For a blocking call: sets it up at the first time, or later.
  Communicator* find(host::Comm handle) {
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    Communicator* c = this_thread.last_hit.find(this, handle, generation);
    if (c != nullptr) [[likely]]
      return c;
    return find_anew(handle, generation, Occasion::blocking_call);
  }
  // The one that this thread used last, if it is this one.
  Communicator* find_again(host::Comm handle) const {
    return this_thread.last_hit.find(this, handle, generation_.load(std::memory_order_acquire));
  }
  // For a call that must not wait.
  Communicator* find_for_started(host::Comm handle);
  // Null where no call has come on it.
  Communicator* find_known(host::Comm handle);

  // One that the program has just made, all of whose ranks are here: sets it up where they are on several
  // nodes, for calls that must not wait.
  void set_up_early(host::Comm handle);
  // One that had few calls: does this blocking call set it up? None, or why not.
  bool is_set_up_now(Communicator& c, const Call& call);
  // A call that does not block, where no blocking one has set it up: is it Unisono's?
  bool is_taken_before_set_up(Communicator& c, const Call& call);

  // Around the host's call that frees a communicator, on one thread. Waits for its calls under way.
  void begin_freeing(host::Comm handle);
  void end_freeing(host::Comm handle, bool is_freed);
  // What is known of it is to be found out anew.
  void forget(host::Comm handle);
  void end_calls(host::Comm handle);
  // A wait has found a rank of the communicator dead: says so, and returns what the call is to return.
  int end_with_lost_peer(host::Comm handle, const PeerLost& lost, std::string_view where = "a collective");

  // To be told of each that ends, before its state goes; `is_freed`: by the program.
  using EndHook = std::function<void(Communicator& c, bool is_freed)>;
  void when_one_ends(EndHook hook) { end_hooks_.push_back(std::move(hook)); }
  // All of this moment. No lock is held meanwhile.
  std::vector<Communicator*> all() const;
  // Threads look up again what they use, and which region they are in.
  void look_again() { generation_.fetch_add(1, std::memory_order_release); }
  // At the job's end: no callback comes from here on; no state is left.
  void forget_watches();
  void clear();

 private:
  // In which one is met for the first time.
  enum class Occasion : std::uint8_t { start_of_job, making, blocking_call, started_call };
  Communicator* find_anew(host::Comm handle, std::uint64_t generation, Occasion occasion);
  Communicator* make(host::Comm handle, Occasion occasion);
  NativeReason set_up_first(Communicator& c, Occasion occasion);
  bool may_wait_with_set_up(host::Comm handle) const;
  bool is_early(Communicator& c, const Call& call);
  std::int64_t early_weight(const Call& call, const Communicator& c) const;

  void watch_end(Communicator& c);
  static void on_freed(void* token);
  void drop(std::uint64_t token, bool is_freed);
  void end_calls(Communicator& c);
  std::unique_ptr<Communicator> take(host::Comm handle);
  void bury(std::unique_ptr<Communicator> c, bool is_freed);

  const World& world_;
  Progress& progress_;
  Gate& gate_;
  Regions& regions_;
  SetUp& set_up_;
  std::vector<EndHook> end_hooks_;
  mutable Mutex mutex_;
  std::map<std::uintptr_t, std::unique_ptr<Communicator>> table_ UNISONO_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> generation_{1};  // changes where a thread's last hit may not hold any more
};

}  // namespace unisono::runtime
