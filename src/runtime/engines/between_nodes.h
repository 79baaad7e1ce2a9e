// SPDX-License-Identifier: BSD-3-Clause
// By which algorithm of the registry agents go between nodes, each of which is one rank there.
#pragma once

#include <memory>

#include "runtime/communicators/agent_share.h"
#include "tuning/decisions/decision.h"

namespace unisono::runtime {

class World;

class BetweenNodes {
 public:
  // By option `agents_algorithm`; what it does not name, or what is not legal, by an algorithm of few rounds.
  explicit BetweenNodes(const World& world);

  // Kept in `share`. Null algorithm: agents do not serve the operation. The same on all ranks.
  const AgentShare::Between& of(AgentShare& share, int nodes, Operation operation, std::int64_t bytes) const;

 private:
  AgentShare::Between choose(int nodes, Operation operation, std::int64_t bytes) const;

  const World& world_;
  std::unique_ptr<tuning::Chooser> asked_;  // null: nothing is
};

}  // namespace unisono::runtime
