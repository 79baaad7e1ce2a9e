// SPDX-License-Identifier: BSD-3-Clause
// What happens where a kernel allowed ranks to read each other's memory at the start, and refuses later.
// Calls under way are served by the memory's owners (shm/slice/asked_copy.cc); later ones do without single
// copy.
#pragma once

#include "runtime/communicators/communicator.h"
#include "runtime/communicators/queues_lock.h"

namespace unisono::runtime {

class SingleCopy {
 public:
  explicit SingleCopy(QueuesLock& queues) : queues_(queues) {}

  // Inside a call whose class is in use: the next blocking one does it (StartedChecks::settle), on all ranks
  // the same one.
  void give_up_later(Communicator& c);

 private:
  QueuesLock& queues_;
};

}  // namespace unisono::runtime
