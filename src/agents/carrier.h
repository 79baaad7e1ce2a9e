// SPDX-License-Identifier: BSD-3-Clause
// What agents do between nodes, as an interface: one descriptor and one file for each way (carrier_*.cc). A
// channel's agents are a team, in which each node is one rank. docs/inside/agents.md, "Carriers".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agents/window.h"
#include "base/types.h"
#include "host/host.h"
#include "schedule/executor.h"

namespace unisono::agents {

// Who a channel's agents are, the same on all of them but for `own`.
struct TeamShape {
  std::vector<int> agents;  // of each node: its agent's rank in the carrier's communicator
  int own = 0;              // this agent's node
  int place = 0;            // of the channel in the agents' memory
  int first_tag = 0;        // window * schedule::tag_count tags are the team's
};

// One operation of a team. What it points to stays until the operation is over.
struct Task {
  std::uint64_t number = 0;  // operations of a team have numbers 1, 2, 3 ..., in the same order everywhere
  Operation operation = Operation::barrier;
  ElementType element = ElementType::byte;
  ReduceOp op = ReduceOp::sum;
  bool needs_kernel = false;                     // only data.combine computes as it must
  const schedule::Compiled* compiled = nullptr;  // how it goes by messages, where it does
  int root = 0;                                  // a node
  schedule::Data data;
};

// A channel's share of a carrier. Up to `window` operations are under way, number modulo window each.
class Team {
 public:
  enum class State : std::uint8_t { under_way, over, failed };
  virtual ~Team() = default;
  // Begins an operation. The one that was `window` before it is over.
  virtual void post(const Task& task) = 0;
  // Lets it go on, and never waits. `over`: *error is host::success or the MPI's code. `failed`: nobody can
  // say any more what becomes of the team's operations; *why tells people.
  virtual State test(std::uint64_t number, int* error, std::string* why) = 0;
  // What carries an operation that is under way or just over: a carrier hands some on to `mpi`.
  virtual std::string_view carrier_of(std::uint64_t number) const = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual std::unique_ptr<Team> make_team(const TeamShape& shape) = 0;
};

// What a carrier is opened with. Collective: all of a job's agents open the same one.
struct CarrierGround {
  host::Host& host;
  host::Comm comm;    // all agents
  int first_tag = 0;  // carrier_tags tags beside those of teams
};
inline constexpr int carrier_tags = 16;

struct CarrierDescriptor {
  std::string_view name;
  std::string_view sentence;  // for people
  // Null where it does not serve here; *why says so, on those agents at least that have found it out. Then
  // it is null on all of them.
  std::unique_ptr<Carrier> (*open)(const CarrierGround& ground, std::string* why);
};

// All of them, by name.
inline constexpr std::size_t most_carriers = 8;
const std::vector<CarrierDescriptor>& carriers();
const CarrierDescriptor* find_carrier(std::string_view name);
std::uint8_t carrier_number(std::string_view name);  // its place among carriers()

// At namespace scope in a carrier's file: adds it.
struct CarrierRegistration {
  explicit CarrierRegistration(CarrierDescriptor (*make)());
};

}  // namespace unisono::agents
