// SPDX-License-Identifier: BSD-3-Clause
// What a thread is inside of, for the handler of signals that end a program (crash_watch.h): set around each
// piece of work that one of Unisono's algorithms does. A small collective takes 100 ns: this takes a few
// moves to memory that the thread has at hand, and nobody else reads it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/call/call_memory.h"
#include "runtime/call/this_thread.h"

namespace unisono::runtime {

// One piece of work, on the stack of the thread that does it.
struct WorkInside {
  const CallClass* entry = nullptr;  // null: an algorithm that nobody has decided for
  std::int64_t bytes = -1;           // of the call, as size classes count them; -1: not known
  CallMemory memory;
};

// Sets a part of the thread's site, and puts back what was there before: while one call waits others may go
// on.
template <auto Part>
class SetForNow {
 public:
  template <class Value>
  explicit SetForNow(Value now) : before_((this_thread.site.*Part).load(std::memory_order_relaxed)) {
    (this_thread.site.*Part).store(now, std::memory_order_relaxed);
    // The compiler must not move the work before this, nor behind what ends it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SetForNow() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    (this_thread.site.*Part).store(before_, std::memory_order_relaxed);
  }
  SetForNow(const SetForNow&) = delete;
  SetForNow& operator=(const SetForNow&) = delete;

 private:
  decltype((this_thread.site.*Part).load()) before_;
};

class InsideAlgorithm {
 public:
  // Null: an algorithm that nobody has decided for, as ranks use for agreements.
  InsideAlgorithm(const CallClass* entry, std::int64_t bytes, const CallMemory& memory = {})
      : work_{entry, bytes, memory}, inside_(&work_) {}

 private:
  WorkInside work_;
  SetForNow<&CrashSite::inside> inside_;
};

// The program's own functions, or the host's on its behalf: what happens there is no algorithm's fault.
class OutsideAlgorithms {
 private:
  SetForNow<&CrashSite::inside> none_{nullptr};
};

// The host's part of an algorithm: what it aborts by itself (another rank is gone) is not the algorithm's
// fault; where it faults, it may be.
class InsideHost {
 private:
  SetForNow<&CrashSite::is_in_host> yes_{true};
};

}  // namespace unisono::runtime
