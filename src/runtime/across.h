// SPDX-License-Identifier: BSD-3-Clause
// Communicators whose processes are of several MPI_COMM_WORLDs: parents, and children that they have spawned.
// The processes of one are a job of their own beside the program's, with options, memory, choices and
// learning of its own; what it records goes with the program's job. It serves calls that block. It ends when
// the program has freed the last communicator that it serves, without a word to the others, who may be late.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "host/host.h"
#include "runtime/job.h"

namespace unisono::runtime {

class AcrossJobs {
 public:
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Null: the program's job serves it. What is returned lives as long as the communicator.
  Job* find(host::Comm comm) const;
  // `host`'s world is the communicator. Collective over it. `beside` is the program's job.
  void add(std::unique_ptr<host::Host> host, Job& beside);
  // What is made of one that is served across is served so, too.
  void inherit(host::Comm of, host::Comm made);
  // Around the host's call that frees the communicator, on one thread.
  void begin_freeing(host::Comm comm);
  void end_freeing(host::Comm comm, bool is_freed);
  // When the program ends.
  void clear();

 private:
  struct Served {
    std::unique_ptr<host::Host> host;
    std::unique_ptr<Job> job;
  };
  using Handle = std::uintptr_t;
  // Its handle may come again before the thread that frees it knows that it is gone.
  struct Freed {
    std::thread::id by;
    Handle handle;
    std::shared_ptr<Served> served;
  };
  std::vector<Freed>::iterator freed_here(Handle handle) UNISONO_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<Handle, std::shared_ptr<Served>> served_ UNISONO_GUARDED_BY(mutex_);
  std::vector<Freed> freed_ UNISONO_GUARDED_BY(mutex_);
  std::atomic<int> count_{0};
};

}  // namespace unisono::runtime
