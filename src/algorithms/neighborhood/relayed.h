// SPDX-License-Identifier: BSD-3-Clause
// Short blocks that all neighbours get, passed on from rank to rank in phases, several in one message. C3,
// C8.
//
// Who passes a block on need not know how long it is. Where both ends of a message do, the block takes its
// own length there, otherwise a cell: as much as the longest block that goes this way. Longer blocks go
// straight, as both ends of an edge know.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/neighborhood/neighbor_tables.h"
#include "patterns/common_neighbors.h"
#include "patterns/routes.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// Of each phase the messages that this rank sends or gets, in the order of ranks and blocks. A block has the
// number of its rank.
using Hops = std::vector<std::vector<patterns::Hop>>;

// `cell_bytes`: the longest block that is passed on. `is_node_told`: the ranks of a node tell each other of
// lengths before.
schedule::Program relayed(const schedule::Problem& problem, const Hops& hops, std::int64_t cell_bytes,
                          bool is_node_told);

}  // namespace unisono::algorithms
