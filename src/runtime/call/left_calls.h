// SPDX-License-Identifier: BSD-3-Clause
// Calls that went to the host for reasons that no communicator keeps: counted by whatever thread makes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/types.h"
#include "runtime/call/native_reason.h"

namespace unisono::runtime {

class LeftCalls {
 public:
  void add(Operation operation, NativeReason reason) {
    calls_[static_cast<std::size_t>(reason)][static_cast<std::size_t>(operation)].fetch_add(
        1, std::memory_order_relaxed);
  }
  // visit(operation, reason, calls) for all that were counted.
  template <class Visit>
  void visit(Visit visit) const {
    for (std::size_t reason = 0; reason < calls_.size(); ++reason) {
      for (std::size_t operation = 0; operation < operation_count; ++operation) {
        const std::uint64_t calls = calls_[reason][operation].load(std::memory_order_relaxed);
        if (calls != 0) visit(static_cast<Operation>(operation), static_cast<NativeReason>(reason), calls);
      }
    }
  }

 private:
  std::array<std::array<std::atomic<std::uint64_t>, operation_count>, native_reason_count> calls_{};
};

}  // namespace unisono::runtime
