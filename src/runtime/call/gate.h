// SPDX-License-Identifier: BSD-3-Clause
// Whether Unisono takes calls at all, and which went to the host for reasons that no communicator keeps.
#pragma once

#include <atomic>

#include "runtime/call/call.h"
#include "runtime/call/left_calls.h"

namespace unisono::runtime {

class Gate {
 public:
  bool is_open() const { return is_open_.load(std::memory_order_relaxed); }
  void set_open(bool is_open) { is_open_.store(is_open, std::memory_order_relaxed); }

  // The call is the host's, and counted. By any thread.
  Outcome leave(Operation operation, NativeReason reason) {
    left_.add(operation, reason);
    return Outcome::native;
  }
  const LeftCalls& left() const { return left_; }

 private:
  std::atomic<bool> is_open_{true};
  LeftCalls left_;
};

}  // namespace unisono::runtime
