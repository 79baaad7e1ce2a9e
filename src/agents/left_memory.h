// SPDX-License-Identifier: BSD-3-Clause
// What agents of a job have left that died: their memory, which ranks of the node hold still.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/agent_segment.h"

namespace unisono::agents {

struct LeftMemory {
  std::unique_ptr<AgentSegment> segment;
  bool is_left = false;      // a dead agent has made it
  std::vector<int> holders;  // processes that have it
};

// The memory of a place, as processes of this user hold it. Null: nobody does.
LeftMemory find_left_memory(const std::string& job, int place);

}  // namespace unisono::agents
