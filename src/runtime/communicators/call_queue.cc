// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/call_queue.h"

namespace unisono::runtime {

void drain(Communicator& c, Progress& progress) {
  if (c.queue == nullptr) return;
  shm::Backoff backoff(c.node.wait);
  while (c.queue->under_way.load(std::memory_order_acquire) != 0) {
    progress.make();
    backoff.step();
  }
}

}  // namespace unisono::runtime
