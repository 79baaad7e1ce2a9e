// SPDX-License-Identifier: BSD-3-Clause
// A lock of those who nearly always find it free. Its owner takes it without an atomic exchange, which would
// first wait until all that was written before lies in a cache. Who visits now and then pays for both: the
// kernel makes the owner's processor finish what it has under way (membarrier).
//
// The owner is one thread at a time: the program's, where it calls from one at a time. Where several call at
// once, or the kernel refuses, it is a lock that spins, and all are alike.
#pragma once

#include <atomic>

#include "base/mutex.h"

namespace unisono {

class UNISONO_CAPABILITY("mutex") BiasedLock {
 public:
  BiasedLock() = default;
  BiasedLock(const BiasedLock&) = delete;
  BiasedLock& operator=(const BiasedLock&) = delete;

  // Before it is used by several threads. False: the kernel refuses, and all are alike.
  bool give_to_owner();

  // --- The owner, or everybody ---
  void lock() UNISONO_ACQUIRE() {
    if (has_owner_) {
      if (!enter()) [[unlikely]]
        enter_after_visit();
    } else {
      while (is_inside_.exchange(true, std::memory_order_acquire)) wait_for_other();
    }
  }
  bool try_lock() UNISONO_TRY_ACQUIRE(true) {
    if (has_owner_) return !is_inside_.load(std::memory_order_relaxed) && enter();
    return !is_inside_.exchange(true, std::memory_order_acquire);
  }
  void unlock() UNISONO_RELEASE() { is_inside_.store(false, std::memory_order_release); }

  // --- Another thread, now and then: one at a time ---
  bool try_visit() UNISONO_TRY_ACQUIRE(true);
  void end_visit() UNISONO_RELEASE() {
    (has_owner_ ? is_visited_ : is_inside_).store(false, std::memory_order_release);
  }

 private:
  // A visitor makes this thread's processor see both in order, so that the compiler alone must keep it.
  bool enter() {
    is_inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!is_visited_.load(std::memory_order_acquire)) [[likely]]
      return true;
    is_inside_.store(false, std::memory_order_release);
    return false;
  }
  void enter_after_visit();
  void wait_for_other() const;

  bool has_owner_ = false;
  std::atomic<bool> is_inside_{false};
  std::atomic<bool> is_visited_{false};
  std::atomic<bool> is_owner_waiting_{false};  // nobody visits then
};

class UNISONO_SCOPED_CAPABILITY BiasedGuard {
 public:
  explicit BiasedGuard(BiasedLock& lock) UNISONO_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~BiasedGuard() UNISONO_RELEASE() { lock_.unlock(); }
  BiasedGuard(const BiasedGuard&) = delete;
  BiasedGuard& operator=(const BiasedGuard&) = delete;

 private:
  BiasedLock& lock_;
};

}  // namespace unisono
