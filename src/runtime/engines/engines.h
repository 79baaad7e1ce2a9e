// SPDX-License-Identifier: BSD-3-Clause
// Which engine runs a call, and the whole way of a blocking one through it.
#pragma once

#include "runtime/engines/agent_engine.h"
#include "runtime/engines/fused_engine.h"
#include "runtime/engines/neighbor_lines.h"
#include "runtime/engines/schedule_engine.h"
#include "runtime/engines/uneven_blocks.h"

namespace unisono::runtime {

class Engines {
 public:
  Engines(const World& world, const Schedules& schedules)
      : fused_(world),
        uneven_blocks_(world, schedules),
        neighbor_lines_(world),
        scheduled_(world, schedules),
        agents_(world) {}

  const Engine& of(const Run& run) const;
  // Start, poll and finish of a call that may block. The host's error code.
  int run(Run& run) const;
  const UnevenBlocks& uneven_blocks() const { return uneven_blocks_; }
  const NeighborLines& neighbor_lines() const { return neighbor_lines_; }
  const AgentEngine& agents() const { return agents_; }

 private:
  FusedSlots fused_;
  UnevenBlocks uneven_blocks_;
  NeighborLines neighbor_lines_;
  ScheduleEngine scheduled_;
  AgentEngine agents_;
};

}  // namespace unisono::runtime
