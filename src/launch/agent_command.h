// SPDX-License-Identifier: BSD-3-Clause
// The command that starts a job's agents: a second job beside it, by the same launcher, with as many
// processes on each of its nodes.
#pragma once

#include <string>

#include "launch/rewrite.h"
#include "launch/words.h"

namespace unisono::launch {

struct AgentCommand {
  Words words;
  std::string obstacle;  // why this job can have no agents; there are no words then
  // Hosts that the launcher's words give the job, and the user has not named. Where the user's names are not
  // all among those words it is not known who is who, and there are none.
  Words left_out;
};

// Where agents go.
struct AgentNodes {
  std::size_t agents = 1;  // on each node
  Words hosts;             // that the user has named; empty: those that the launcher's words give
};

// `agent`: the program that each of them runs, with its own arguments; it is told which MPI to load.
AgentCommand agent_command(const Words& command, const Understood& understood, const Words& agent,
                           const AgentNodes& nodes);

}  // namespace unisono::launch
