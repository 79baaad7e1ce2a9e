// SPDX-License-Identifier: BSD-3-Clause
// MPI promises that a non-blocking call goes on while the program is anywhere in MPI. That may be a
// collective that is left to the host, a window's fence, a file. There the host knows nothing of our calls.
// This thread looks after them: it sleeps while the program itself comes by, and carries on where it stays
// away.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <thread>

#include "base/mutex.h"

namespace unisono::runtime {

class ProgressThread {
 public:
  // What to carry on; false where nothing could go on at present.
  struct Work {
    bool (*advance)(void*) = nullptr;
    void* context = nullptr;
  };
  explicit ProgressThread(Work work) : work_(work) {}
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // One call more to look after, and one less. The first one begins the thread.
  void add();
  void remove() { under_way_.fetch_sub(1, std::memory_order_release); }
  // The program carries its calls on itself.
  void program_came_by() {
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void run();
  void carry_on(std::uint64_t visits);
  bool must_stop() const { return is_stopping_.load(std::memory_order_relaxed); }

  Work work_;
  std::atomic<int> under_way_{0};
  std::atomic<std::uint64_t> visits_{0};  // lost counts do no harm
  std::atomic<bool> is_idle_{false};
  std::atomic<bool> is_stopping_{false};
  Mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace unisono::runtime
