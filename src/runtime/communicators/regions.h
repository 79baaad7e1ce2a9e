// SPDX-License-Identifier: BSD-3-Clause
// Regions of the program, by the names that it gives them (include/unisono/unisono.h). Each has its own
// knowledge of what is fast (docs/guide/learning.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "runtime/communicators/communicator.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

class Regions {
 public:
  explicit Regions(const World& world) : world_(world) {}

  // Does anything go by regions? Without learning nothing does, and none need be begun.
  bool are_told_apart() const { return world_.options.learn != "off"; }
  // Of this process; they may stand in each other.
  void begin(const std::string& name);
  void end();
  // The number of the innermost one; 0: none is open.
  std::uint64_t innermost() const { return innermost_.load(std::memory_order_acquire); }
  // Before a call on the communicator that may be the first one in a region.
  void enter(Communicator& c) const {
    if (are_told_apart()) c.learning.regions.enter(c.calls, innermost());
  }
  // As long as the job lives; empty where there is no such region.
  std::string_view name(std::uint64_t region) const;
  // Says which one was never ended, if any.
  void say_open() const;

 private:
  const World& world_;
  mutable Mutex mutex_;
  std::vector<std::uint64_t> stack_ UNISONO_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::string> names_ UNISONO_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> innermost_{0};
};

}  // namespace unisono::runtime
