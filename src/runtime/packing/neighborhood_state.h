// SPDX-License-Identifier: BSD-3-Clause
// What a communicator knows of its graph, from the first collective of neighbours on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "patterns/neighbor_links.h"
#include "patterns/neighborhood.h"
#include "runtime/call/native_reason.h"
#include "schedule/block_table.h"
#include "schedule/executor.h"

namespace unisono::runtime {

struct NeighborhoodState {
  std::uint64_t calls = 0;  // blocking ones, before the set-up
  // none: set up, and calls are Unisono's.
  NativeReason reason = NativeReason::few_neighbor_calls;
  std::shared_ptr<const patterns::Neighborhood> neighbors;  // of all ranks of the node; null: not set up
  // The longest block of any rank in the call that has set up. Decisions go by that: no length is common to
  // all ranks of a later call.
  std::int64_t bytes = 0;
  int ins = 0, outs = 0;  // of this rank
  // Those of them that are not there (MPI_PROC_NULL): nothing is read from or written to their blocks.
  std::vector<std::int64_t> missing_ins, missing_outs;

  // Between ranks of one node, where there is no other.
  patterns::NeighborLinks links;

  // The longest block, bytes, for which all slots of all nodes have room, if one slot takes a rank's whole
  // area. First of operations in which a rank has one block for all, then of the others. Agreed by all ranks.
  struct Room {
    std::int64_t bundled = 0, own = 0;
  };
  std::array<Room, 2> room;

  // How long a block of a call may be to go into a bundle, or a slot.
  schedule::BlockLimits limits(const schedule::Compiled& compiled, Operation operation) const {
    return schedule::limits_within(compiled, room[sends_neighbor_blocks(operation) ? 1 : 0].bundled,
                                   room[sends_neighbor_blocks(operation) ? 1 : 0].own);
  }
};

}  // namespace unisono::runtime
