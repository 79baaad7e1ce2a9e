// SPDX-License-Identifier: BSD-3-Clause
// Calls between nodes by the nodes' agents: a rank posts what it has, and finds the result when it looks. In
// between nothing of the call is the program's to do. Calls that do not block go so wherever agents serve
// them. Blocking ones have a channel of their own, and go so where agents are chosen for them.
#pragma once

#include <memory>
#include <string>

#include "agents/served.h"
#include "runtime/engines/between_nodes.h"
#include "runtime/engines/engine.h"

namespace unisono::runtime {

class AgentEngine final : public Engine {
 public:
  explicit AgentEngine(const World& world) : Engine(world), between_(world) {}

  // Do agents make such a call of so many bytes that does not block? The same answer on all ranks.
  bool serves(const Communicator& c, const Call& call, std::int64_t bytes) const {
    return c.node.agents != nullptr && why_not(*c.node.agents, c, call, bytes).empty();
  }
  // Why they do not make such a blocking call, as a clause behind their name; empty: they do. The second one
  // looks at neither operator nor type. The same on all ranks.
  std::string why_not_blocking(const Communicator& c, const Call& call, std::int64_t bytes) const;
  std::string why_none_blocking(const Communicator& c, Operation operation, std::int64_t bytes) const;
  // For a class of calls that do not block.
  void decide(const Communicator& c, Operation operation, std::int64_t bytes, CallClass* entry) const;

  // Posts the call where the window has room.
  int start(Run& run) const override;
  // Waits where the call blocks.
  bool poll(Run& run) const override;

 private:
  std::string why_not(AgentShare& share, const Communicator& c, const Call& call, std::int64_t bytes) const;
  std::string why_none(AgentShare& share, const Communicator& c, const agents::AskedCall& asked) const;
  agents::Descriptor describe(const Run& run) const;
  void post_waiting(AgentShare& share) const;
  void post(Run& run) const;
  bool is_over(Run& run) const;
  bool is_given_up(Run& run) const;

  const BetweenNodes between_;
};

}  // namespace unisono::runtime
