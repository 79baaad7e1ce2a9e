// SPDX-License-Identifier: BSD-3-Clause
// The set-up of collectives of neighbours on a communicator. Ranks of a node tell each other of their
// neighbours; between nodes there is one agreement, by which all ranks know that they describe one graph.
// C5, C7.
#pragma once

#include "runtime/communicators/communicator.h"
#include "runtime/engines/schedules.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

class Neighborhoods {
 public:
  Neighborhoods(const World& world, const Schedules& schedules) : world_(world), schedules_(schedules) {}

  // Is the communicator ready for Unisono's algorithms? Asked by each blocking call of neighbours: one of the
  // first ones sets up, collectively. Otherwise c.node.neighborhood says why not.
  bool is_ready(Communicator& c, const Call& call) const { return is_set_up(c) || look_at(c, call); }
  // The same for a call that is made to be repeated: it sets up at once.
  bool is_ready_now(Communicator& c, const Call& call) const;
  // Calls that do not block ask no more: a set-up waits for others.
  static bool is_set_up(const Communicator& c) { return reason_of(c) == NativeReason::none; }
  static NativeReason reason_of(const Communicator& c) {
    return c.node.neighborhood == nullptr ? NativeReason::few_neighbor_calls : c.node.neighborhood->reason;
  }

 private:
  bool look_at(Communicator& c, const Call& call) const;
  void set_up(Communicator& c, const Call& call) const;
  std::int64_t longest_block(const NeighborhoodState& state, const Call& call) const;
  bool read_node(const Communicator& c, patterns::Neighborhood* known) const;
  // Every local rank's numbers, `count` each, in place: this rank's are there.
  int tell_node(const Communicator& c, std::vector<std::int64_t>* numbers, std::int64_t count) const;
  void find_room(const Communicator& c, const patterns::Neighborhood& known,
                 std::array<NeighborhoodState::Room, 2>* room) const;
  std::uint64_t calls_before() const;

  const World& world_;
  const Schedules& schedules_;
};

}  // namespace unisono::runtime
