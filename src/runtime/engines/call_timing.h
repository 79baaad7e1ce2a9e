// SPDX-License-Identifier: BSD-3-Clause
// Counts and times calls, whatever runs them.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "runtime/communicators/classes.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

// From a call's beginning to its end; of one that is not to be timed its long waits are kept.
class CallTiming {
 public:
  // Is this call of the class timed? Counts it.
  static bool count(CallClass& entry, std::uint64_t bytes) {
    entry.bytes += bytes;
    return (entry.calls++ & entry.sample_mask) == 0;
  }
  // It was counted as one of `entry`, and is one of `other`.
  static void move(CallClass& entry, CallClass& other, std::uint64_t bytes) {
    --entry.calls;
    entry.bytes -= bytes;
    count(other, bytes);
  }
  explicit CallTiming(bool is_timed)
      : is_timed_(is_timed), start_s_(is_timed ? now_s() : 0), waits_ns_(shm::long_waits_ns) {}

  void end(CallClass& entry, bool is_well) const {
    if (is_timed_) {
      keep(entry, now_s() - start_s_, waited_s(), is_well);
    } else if (waits_ns_ != shm::long_waits_ns) [[unlikely]] {
      entry.times.add_waits(waited_s());
    }
  }
  // The same of a call that somebody else has timed.
  static void keep(CallClass& entry, double seconds, double waited_s, bool is_well);
  // The same of a call that did not block: all of them are timed, and their waits are the program's.
  static void keep_started(CallClass& entry, double seconds) { entry.times.add(seconds); }

 private:
  double waited_s() const { return 1e-9 * static_cast<double>(shm::long_waits_ns - waits_ns_); }

  bool is_timed_;
  double start_s_;
  std::uint64_t waits_ns_;
};

}  // namespace unisono::runtime
