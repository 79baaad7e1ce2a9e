// SPDX-License-Identifier: BSD-3-Clause
// What Unisono keeps of each thread that calls it.
#pragma once

#include <atomic>
#include <cstdint>

#include "host/host.h"

namespace unisono::runtime {

class Communicators;
struct CallClass;
struct Communicator;
struct WorkInside;

// The communicator that the thread used last: most programs use one for long.
struct LastHit {
  const Communicators* table = nullptr;
  std::uintptr_t handle = 0;
  std::uint64_t generation = 0;
  Communicator* communicator = nullptr;

  // Null where it was another one.
  Communicator* find(const Communicators* of, host::Comm comm, std::uint64_t now) const {
    const bool is_it = handle == static_cast<std::uintptr_t>(comm) && table == of && generation == now;
    return is_it ? communicator : nullptr;
  }
};

// What the thread is inside of (crash_site.h). Atomic since a handler of signals reads it.
struct CrashSite {
  std::atomic<const WorkInside*> inside{nullptr};  // null: in none of Unisono's algorithms
  std::atomic<bool> is_in_host{false};             // the algorithm has called the host
};

struct ThisThread {
  LastHit last_hit;
  // The class of a call that the host is running, between BlockingCalls::run() and native_finished().
  CallClass* timed_native = nullptr;
  // Does it let things go on already? An operator or an error handler of the program may come back to us.
  bool is_making_progress = false;
  CrashSite site;
};

// Every call looks here: without the call that finds a loaded library's thread_local variables otherwise.
// That call may allocate, too, which a handler of signals must not.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThisThread this_thread;

}  // namespace unisono::runtime
