// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/progress_thread.h"

#include <algorithm>
#include <chrono>

#include "base/float_control.h"
#include "base/program_signals.h"

namespace unisono::runtime {
namespace {

using std::chrono::microseconds;

// How long the program may stay away. While it comes by, looking is a waste.
constexpr microseconds first_look{1000}, longest_look{16000};
// Between tries that change nothing: others wait for a core, or for messages of other nodes.
constexpr int tries_without_sleep = 20;
constexpr microseconds first_sleep{20}, longest_sleep{500};

}  // namespace

ProgressThread::~ProgressThread() {
  if (!thread_.joinable()) return;
  {
    const LockGuard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressThread::add() {
  // Ordered against run(), which says that it is idle and then looks at under_way_.
  under_way_.fetch_add(1, std::memory_order_seq_cst);
  if (is_idle_.load(std::memory_order_seq_cst)) {
    const LockGuard lock(mutex_);
    wake_.notify_all();
  }
  if (thread_.joinable()) [[likely]]
    return;
  const WithoutProgramSignals without_signals;
  thread_ = std::thread([this] { run(); });
}

void ProgressThread::run() {
  set_standard_float_control();  // not what the program's thread had that began this one
  microseconds interval = first_look;
  UniqueLock lock(mutex_);
  while (!must_stop()) {
    is_idle_.store(true, std::memory_order_seq_cst);
    wake_.wait(lock.to_wait(),
               [this] { return must_stop() || under_way_.load(std::memory_order_seq_cst) != 0; });
    is_idle_.store(false, std::memory_order_relaxed);
    const std::uint64_t visits = visits_.load(std::memory_order_relaxed);
    wake_.wait_for(lock.to_wait(), interval, [this] { return must_stop(); });
    if (visits_.load(std::memory_order_relaxed) != visits) {
      interval = std::min(2 * interval, longest_look);
      continue;
    }
    interval = first_look;
    lock.unlock();
    carry_on(visits);
    lock.lock();
  }
}

void ProgressThread::carry_on(std::uint64_t visits) {
  int tries = 0;
  microseconds sleep = first_sleep;
  const auto is_needed = [&] {
    return under_way_.load(std::memory_order_acquire) != 0 && !must_stop() &&
           visits_.load(std::memory_order_relaxed) == visits;
  };
  while (is_needed()) {
    if (work_.advance(work_.context)) {
      tries = 0;
      sleep = first_sleep;
    } else if (++tries < tries_without_sleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(2 * sleep, longest_sleep);
    }
  }
}

}  // namespace unisono::runtime
