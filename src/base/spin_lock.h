// SPDX-License-Identifier: BSD-3-Clause
// A lock for work of some ten nanoseconds: 2 ns where nobody else wants it.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/mutex.h"

namespace unisono {

class UNISONO_CAPABILITY("mutex") SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  bool try_lock() UNISONO_TRY_ACQUIRE(true) { return !is_held_.exchange(true, std::memory_order_acquire); }
  void lock() UNISONO_ACQUIRE() {
    while (!try_lock()) wait();
  }
  void unlock() UNISONO_RELEASE() { is_held_.store(false, std::memory_order_release); }

 private:
  // Whoever holds it may have lost its core.
  void wait() const {
    for (int looks = 0; is_held_.load(std::memory_order_relaxed); ++looks) {
      if (looks % 64 == 63) sched_yield();
    }
  }

  std::atomic<bool> is_held_{false};
};

class UNISONO_SCOPED_CAPABILITY SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) UNISONO_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() UNISONO_RELEASE() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace unisono
