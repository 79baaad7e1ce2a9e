// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/copy_permission.h"

#include "runtime/communicators/call_queue.h"

namespace unisono::runtime {

void SingleCopy::give_up_later(Communicator& c) {
  if (!c.has_single_copy) return;
  const LockGuard lock(queues_.mutex());
  if (c.queue == nullptr) c.queue = std::make_unique<CallQueue>();
  c.queue->gives_up_single_copy = c.queue->is_to_settle = true;
}

}  // namespace unisono::runtime
