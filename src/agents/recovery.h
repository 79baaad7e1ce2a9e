// SPDX-License-Identifier: BSD-3-Clause
// Agents that take over what dead ones have left tell each other what these have answered. What any node has
// is given to all, and what nobody has is made again: docs/inside/agents.md, "When agents die".
#pragma once

#include <array>
#include <memory>
#include <string>

#include "agents/channel_work.h"
#include "agents/left_memory.h"

namespace unisono::agents {

using Works = std::array<std::unique_ptr<ChannelWork>, most_channels>;  // by place

// Collective over ground.comm, all agents of the job in their old order. Opens the channels of this agent's
// memory. Empty, or why it cannot.
std::string recover(Carrier& carrier, const CarrierGround& ground, bool has_soft_float,
                    const LeftMemory& memory, Works* works);

}  // namespace unisono::agents
