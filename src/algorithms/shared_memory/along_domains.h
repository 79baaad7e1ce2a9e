// SPDX-License-Identifier: BSD-3-Clause
// What goes along a node's caches, NUMA domains and sockets: `problem` is one node's. Where its parameter
// `domains` is 1 an algorithm goes along those that divide the node. Reductions keep to the order of the
// ranks where operands may not be exchanged. If the domains are not in this order, or the root is not the
// lowest rank, they go as if nothing divided the node. So do reproducible ones.
#pragma once

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// What divides the node: does it go along that?
bool goes_along_domains(const schedule::Problem& problem, const Parameters& parameters);
// The tree that fused steps go along; null: along none.
schedule::Tree tree_along_domains(const schedule::Problem& problem, const Parameters& parameters);

// An algorithm by which a node's messages always go so.
template <schedule::Program (*build)(const schedule::Problem&, const Parameters&)>
schedule::Program along_domains(const schedule::Problem& problem, const Parameters& parameters) {
  Parameters along = parameters;
  along.set("domains", 1);
  return build(problem, along);
}

// Through a channel, each byte into a domain and out of it once. Always one stage.
schedule::Program bcast_along_domains(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program reduce_along_domains(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program allreduce_along_domains(const schedule::Problem& problem, const Parameters& parameters);

}  // namespace unisono::algorithms
