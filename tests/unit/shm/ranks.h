// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one node for tests: threads over one piece of memory, or forked processes over a shared mapping.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "shm/slice/slice.h"

namespace unisono::shm {

// Zero-filled memory that forked processes share.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(bytes),
        memory_(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
  }
  ~SharedMemory() { munmap(memory_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* get() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

using RankBody = std::function<void(Slice& slice)>;

inline void run_threads(const SliceShape& shape, const WaitConfig& wait, const RankBody& body) {
  const SharedMemory memory(shape.bytes());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.local_size; ++rank) {
    threads.emplace_back([&, rank] {
      Slice slice(memory.get(), shape, rank, wait);
      body(slice);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Each rank is a process; failed expectations make its exit code, which is expected to be 0.
inline void run_processes(const SliceShape& shape, const WaitConfig& wait, const RankBody& body) {
  const SharedMemory memory(shape.bytes());
  const SharedMemory ids_memory(sizeof(int) * static_cast<std::size_t>(shape.local_size));
  int* process_ids = static_cast<int*>(ids_memory.get());
  std::vector<pid_t> children;
  for (int rank = 0; rank < shape.local_size; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int peer = 0; peer < shape.local_size; ++peer) {
        while (__atomic_load_n(&process_ids[peer], __ATOMIC_ACQUIRE) == 0) sched_yield();
      }
      {
        Slice slice(memory.get(), shape, rank, wait, process_ids);
        body(slice);
      }
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    __atomic_store_n(&process_ids[rank], child, __ATOMIC_RELEASE);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// Now and then a rank is late.
class Delays {
 public:
  explicit Delays(std::uint32_t seed) : random_(seed) {}
  void maybe() {
    const std::uint32_t draw = random_() % 64;
    if (draw == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
    if (draw < 8) sched_yield();
  }

 private:
  std::minstd_rand random_;
};

}  // namespace unisono::shm
