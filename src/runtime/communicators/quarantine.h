// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that this process has found wrong on any communicator (option 'verify', B9).
#pragma once

#include <mutex>
#include <set>

#include "algorithms/catalogue/descriptor.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime {

class Quarantine {
 public:
  void add(const algorithms::Descriptor* algorithm) {
    const std::lock_guard lock(mutex_);
    found_wrong_.insert(algorithm);
  }
  // What any rank of the communicator has found wrong is out of use on it. Collective. False where the host
  // has failed.
  bool agree(host::Host& host, Communicator& c) const;

 private:
  mutable std::mutex mutex_;
  std::set<const algorithms::Descriptor*> found_wrong_;
};

}  // namespace unisono::runtime
