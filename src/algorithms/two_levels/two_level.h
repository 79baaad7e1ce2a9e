// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of two-level algorithms: shared memory inside the nodes, any algorithm that uses messages alone
// between their leaders. G3; A5, figure 3.2.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/building/levels.h"
#include "algorithms/catalogue/descriptor.h"

namespace unisono::algorithms {

// How an operation is done on two levels.
using TwoLevelBuild = std::function<void(Composition* composition, const Levels& levels,
                                         const Descriptor& inter, const Parameters& parameters)>;

// What of each piece takes part in the nodes' phase beside the messages, and what does apart from them (A6),
// by the parameters `segment` and `overlap`.
struct Overlap {
  explicit Overlap(const Parameters& parameters);
  Share beside, apart;

  bool is_none() const { return beside.count == 0; }
  bool is_total() const { return apart.count == 0; }
};
// Messages first: as it comes, the nodes' phase follows; what is left of it comes at the end.
void add_node_after(Composition* to, const Levels& levels, Operation operation, Levels::NodePhase phase,
                    const Parameters& parameters, const std::vector<Mapping>& items = {Mapping()});
// The nodes' phase first: what does not overlap is done before, the rest piece by piece beside the messages.
// Returns whether the messages begin only behind it.
bool add_node_before(Composition* to, const Levels& levels, Operation operation, Levels::NodePhase phase,
                     const Parameters& parameters);

// May the algorithm run between leaders?
bool is_for_leaders(const Descriptor& inter);
// "two_level_" + the name of `inter`, its legality on the nodes, its parameters and those of the channels.
Descriptor two_level(const Descriptor& inter, TwoLevelBuild build);
// The same with fused steps inside the nodes, for small messages.
Descriptor fused_two_level(const Descriptor& inter, TwoLevelBuild build);
// Is it good for small messages?
bool has_few_rounds(const Descriptor& inter);

}  // namespace unisono::algorithms
