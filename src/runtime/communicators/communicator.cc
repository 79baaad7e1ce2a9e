// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/communicator.h"

#include "runtime/communicators/call_queue.h"
#include "runtime/communicators/set_up_aside.h"

namespace unisono::runtime {

Communicator::Communicator() = default;

Communicator::~Communicator() {
  if (node.slice_offset < 0) return;
  SliceTail* tail = SliceTail::of(*this);
  node.started_slice.reset();
  node.slice.reset();
  // Other ranks may still be reading what they were sent: the last one to leave gives the memory back.
  if (tail->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (tail->started.offset() >= 0) node.pool->release(tail->started.offset());
  node.pool->release(node.slice_offset);
}

}  // namespace unisono::runtime
