// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that this process has found wrong on any communicator (option 'verify', B9).
#pragma once

#include <set>

#include "algorithms/catalogue/descriptor.h"
#include "base/mutex.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime {

class Quarantine {
 public:
  void add(const algorithms::Descriptor* algorithm) {
    const LockGuard lock(mutex_);
    found_wrong_.insert(algorithm);
  }
  // What any rank of the communicator has found wrong is out of use on it. Collective. False where the host
  // has failed.
  bool agree(host::Host& host, Communicator& c) const;

 private:
  mutable Mutex mutex_;
  std::set<const algorithms::Descriptor*> found_wrong_ UNISONO_GUARDED_BY(mutex_);
};

}  // namespace unisono::runtime
