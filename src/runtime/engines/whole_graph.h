// SPDX-License-Identifier: BSD-3-Clause
// Small graphs of neighbours, told to all ranks by messages between nodes: for algorithms in which ranks pass
// on blocks of ranks that they have no edge to. C8.
#pragma once

#include <cstdint>

#include "patterns/neighborhood.h"
#include "runtime/communicators/communicator.h"
#include "runtime/engines/schedules.h"

namespace unisono::runtime {

// With so many edges of all ranks together: is the graph told to all? The same on all ranks.
bool is_told_to_all(const Communicator& c, const Options& options, std::uint64_t edges);

// Collective. `known` has the neighbours of the node's own ranks, and then those that all others send to.
// False: a message has failed.
bool tell_to_all(Communicator& c, const Schedules& schedules, patterns::Neighborhood* known);

}  // namespace unisono::runtime
