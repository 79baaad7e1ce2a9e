// SPDX-License-Identifier: BSD-3-Clause
#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace unisono {
namespace {

long membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0);
}

// Whoever holds it may have lost its core. False: it took too long.
bool wait_while(const std::atomic<bool>& is_so, long most_looks = LONG_MAX) {
  for (long looks = 0; is_so.load(std::memory_order_acquire); ++looks) {
    if (looks == most_looks) return false;
    if (looks % 64 == 63) sched_yield();
  }
  return true;
}

}  // namespace

bool BiasedLock::give_to_owner() {
#if defined(__SANITIZE_THREAD__)
  return false;  // it does not know what the kernel orders
#else
  has_owner_ = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return has_owner_;
#endif
}

void BiasedLock::enter_after_visit() {
  is_owner_waiting_.store(true, std::memory_order_relaxed);
  do wait_while(is_visited_);
  while (!enter());
  is_owner_waiting_.store(false, std::memory_order_relaxed);
}
void BiasedLock::wait_for_other() const {
  wait_while(is_inside_);
}

bool BiasedLock::try_visit() {
  if (!has_owner_) return !is_inside_.exchange(true, std::memory_order_acquire);
  if (is_inside_.load(std::memory_order_relaxed) || is_owner_waiting_.load(std::memory_order_relaxed))
    return false;
  is_visited_.store(true, std::memory_order_relaxed);
  // From here on the owner sees it before it enters, or has told that it is inside: it comes out, and stays
  // out.
  constexpr long most_looks = 1000;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 && wait_while(is_inside_, most_looks)) return true;
  is_visited_.store(false, std::memory_order_release);
  return false;
}

}  // namespace unisono
