// SPDX-License-Identifier: BSD-3-Clause
// A communicator's channels to its nodes' agents: of calls that do not block, and of those that do.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>

#include "agents/carrier.h"
#include "agents/rank_channel.h"
#include "algorithms/catalogue/descriptor.h"
#include "tuning/decisions/size_class.h"

namespace unisono::runtime {

class World;
struct Communicator;
struct Run;

// Calls that do not block whose times are known, each from its start until its agent had the result, and what
// the program has waited for them. Calls for which it did not wait in MPI_Wait or MPI_Waitall, or which it
// did not find by MPI_Test alone, are not among them.
struct AgentTimes {
  std::uint64_t calls = 0;
  double under_way_s = 0, waited_s = 0;
  void add(const AgentTimes& more) {
    calls += more.calls;
    under_way_s += more.under_way_s;
    waited_s += more.waited_s;
  }
  bool operator==(const AgentTimes&) const = default;
};

struct AgentShare {
  AgentShare(const agents::AgentSegment& segment, int place, int local_rank)
      : channel(segment, place, local_rank) {}
  // What goes between the nodes for an operation's size class. Null: agents do not serve it.
  struct Between {
    const algorithms::Descriptor* algorithm = nullptr;
    algorithms::Parameters parameters;
    std::string text;  // "k_nomial(degree=4)"
  };
  std::array<std::array<std::optional<Between>, tuning::size_class_count>, operation_count> between;
  agents::RankChannel channel;
  std::array<std::array<std::uint64_t, agents::most_carriers>, operation_count> carried{};  // calls so far
  AgentTimes times;
  std::deque<Run*> waiting;  // calls for which the window had no room, in their order
};

// Gives the communicator both where it is spread over nodes which have an agent each, and there is room: on
// all of its ranks or on none. That of blocking calls only where something may choose agents for them, and as
// long as half of the places are free. Collective, where all have agents.
void attach_agents(const World& world, Communicator& c);

}  // namespace unisono::runtime
