// SPDX-License-Identifier: BSD-3-Clause
// Fused operations on one node, where local ranks are the communicator's ranks: shared slots move data and
// synchronise in one step (shm/slice/slice.h).
#pragma once

#include "runtime/engines/engine.h"

namespace unisono::runtime {

inline FusedSize fused_size(const Extent& extent, const shm::Combine& combine) {
  return {static_cast<std::size_t>(extent.elements), static_cast<std::size_t>(extent.bytes()), combine};
}

// Of equal blocks; uneven ones go through lines (uneven_blocks.h).
void run_fused(Communicator& c, const Call& call, const void* input, void* output, bool is_in_place,
               const FusedSize& size);

class FusedSlots final : public Engine {
 public:
  using Engine::Engine;
  int start(Run& run) const override;
  bool poll(Run& run) const override;
  // Does this engine make such calls that do not block? What it makes is decided alike (Legality::may_start).
  static bool may_start(const Call& call) {
    return !call.is_persistent && !is_neighborhood(call.operation) && !has_uneven_blocks(call.operation);
  }

 private:
  static shm::FusedCall fused_call(const Run& run);
};

}  // namespace unisono::runtime
