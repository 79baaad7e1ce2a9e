// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/engines.h"

#include "runtime/call/crash_site.h"

namespace unisono::runtime {

const Engine& Engines::of(const Run& run) const {
  if (run.entry->kind == CallClass::Kind::by_agents) return agents_;
  if (run.entry->kind != CallClass::Kind::fused) return scheduled_;
  if (!run.is_blocking)
    return FusedSlots::may_start(run.call) ? static_cast<const Engine&>(fused_) : scheduled_;
  if (is_neighborhood(run.call.operation)) {
    return NeighborLines::has_room(*run.communicator) ? static_cast<const Engine&>(neighbor_lines_)
                                                      : scheduled_;
  }
  if (!has_uneven_blocks(run.call.operation)) return fused_;
  // Uneven reductions have no lines.
  return is_reduction(run.call.operation) ? static_cast<const Engine&>(scheduled_) : uneven_blocks_;
}

int Engines::run(Run& run) const {
  const Engine& engine = of(run);
  run.algorithm = run.entry->choice->algorithm;
  run.error = engine.start(run);
  if (run.error != host::success) return run.error;
  {
    const UnevenMemory uneven = run.work->memory_of(run.call.operation);
    const InsideAlgorithm here(run.entry, run.bytes,
                               {.call = &run.call, .ranks = run.communicator->size, .uneven = &uneven});
    engine.poll(run);
  }
  return engine.finish(run);
}

}  // namespace unisono::runtime
