// SPDX-License-Identifier: BSD-3-Clause
// A job's one lock of all its communicators' queues (call_queue.h): whoever lets calls go on holds it, but
// where functions of the program may run.
#pragma once

#include "base/mutex.h"

namespace unisono::runtime {

// Stands in annotations for any job's: a queue does not know its job. Never defined.
extern Mutex held_queues;

class QueuesLock {
 public:
  Mutex& mutex() UNISONO_RETURN_CAPABILITY(held_queues) { return mutex_; }

 private:
  Mutex mutex_;
};

}  // namespace unisono::runtime
