// SPDX-License-Identifier: BSD-3-Clause
// Two-level gather, scatter and allgather, the last of uneven blocks too. Leaders deal in whole nodes'
// blocks, which stand in the order of the nodes. Where that is not the order of the ranks, blocks change
// places in scratch space at the end or at the start.
#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"
#include "algorithms/shared_memory/shared_blocks.h"
#include "algorithms/two_levels/two_level.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

// Where all ranks' blocks are in node order: in `direct` itself if that is the order of the ranks.
Seat all_in_node_order(Composition* to, const Levels& levels, Place direct) {
  if (levels.is_in_rank_order()) return {direct};
  return {Place::scratch, to->reserve(levels.size())};
}

Ref at(const Seat& seat, std::int64_t unit) {
  return block(seat.place, seat.units + unit);
}
Seat behind(Seat seat, std::int64_t units) {
  seat.units += units;
  return seat;
}

// Copies every block between its position in node order and its rank's place in `by_rank`.
void add_permutation(Composition* to, const Levels& levels, const Seat& in_node_order, Place by_rank,
                     bool is_into_node_order) {
  to->add(local_stage([=, ranks = levels.ranks_in_node_order()](Writer& writer) {
    for (std::size_t position = 0; position < ranks.size(); ++position) {
      const Ref node_order = at(in_node_order, static_cast<std::int64_t>(position));
      const Ref rank_order = block(by_rank, ranks[position]);
      writer.copy(is_into_node_order ? node_order : rank_order, is_into_node_order ? rank_order : node_order);
    }
  }));
}

// A leader's own node's blocks: at the root among all, elsewhere on their own.
Seat own_node(Composition* to, const Levels& levels, const Seat& all) {
  if (levels.leaders().rank == levels.leaders().root) return behind(all, levels.first_position());
  return {Place::scratch, to->reserve(levels.node().size)};
}

bool is_root(const Levels& levels) {
  return levels.is_leader() && levels.leaders().rank == levels.leaders().root;
}

TwoLevelBuild gather(Levels::NodePhase on_node) {
  return [=](Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
    const Seat all = all_in_node_order(to, levels, Place::output);
    const Seat own = own_node(to, levels, all);
    levels.add_node(to, Operation::gather, on_node, parameters, {.output = own});
    levels.add_leaders(to, inter, parameters, {.input = own, .output = all});
    if (!levels.is_in_rank_order() && is_root(levels)) {
      add_permutation(to, levels, all, Place::output, false);
    }
  };
}

TwoLevelBuild scatter(Levels::NodePhase on_node) {
  return [=](Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
    const Seat all = all_in_node_order(to, levels, Place::input);
    const Seat own = own_node(to, levels, all);
    if (!levels.is_in_rank_order()) {
      if (is_root(levels)) add_permutation(to, levels, all, Place::input, true);
      if (!is_root(levels)) to->add(local_stage([](Writer&) {}));
    }
    levels.add_leaders(to, inter, parameters, {.input = all, .output = own});
    levels.add_node(to, Operation::scatter, on_node, parameters, {.input = own});
  };
}

// Where a ring brings the nodes' blocks in turn: this node's first, then those of the nodes before it.
std::vector<Mapping> nodes_as_they_come(const Levels& levels, const Descriptor& inter, const Seat& all) {
  const std::vector<int> in_ring = inter.ring_order(*levels.leaders().layout);
  const auto own = std::ranges::find(in_ring, levels.leaders().rank) - in_ring.begin();
  std::vector<Mapping> items;
  const patterns::Ring ring{levels.leaders().size};
  for (int round = 0; round < ring.size; ++round) {
    const int node = in_ring[ring.passed_on(static_cast<int>(own), round)];
    const std::int64_t first = levels.leaders().blocks.first(node);
    items.push_back({.output = behind(all, first),
                     .shared_units = first,
                     .scale = levels.leaders().blocks.last(node) - first});
  }
  return items;
}

// What the leaders have gathered goes to their nodes. Around a ring one node's blocks come after the other's
// (A6, figure 3.11); elsewhere, many together.
void hand_out(Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters,
              const Seat& all) {
  if (inter.ring_order && !Overlap(parameters).is_none()) {
    add_node_after(to, levels, Operation::bcast, shared_bcast, parameters,
                   nodes_as_they_come(levels, inter, all));
  } else {
    levels.add_node(to, Operation::bcast, shared_bcast, parameters, {.output = all, .scale = levels.size()});
  }
}

void allgather(Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
  const Seat all = all_in_node_order(to, levels, Place::output);
  const Seat own = behind(all, levels.first_position());
  levels.add_node(to, Operation::gather, shared_gather, parameters, {.output = own});
  levels.add_leaders(to, inter, parameters, {.input = own, .output = all});
  hand_out(to, levels, inter, parameters, all);
  if (!levels.is_in_rank_order()) add_permutation(to, levels, all, Place::output, false);
}

// Blocks keep their numbers, so all phases work on output.
void allgatherv(Composition* to, const Levels& levels, const Descriptor& inter,
                const Parameters& parameters) {
  to->add(shared_gather_blocks(levels.node(), parameters, levels.first_position()));
  levels.add_leaders(to, inter, parameters, {.input = {Place::output}});
  hand_out(to, levels, inter, parameters, {Place::output});
}

Descriptor two_level_allgather(const Descriptor& inter) {
  const bool is_even = inter.operation == Operation::allgather;
  Descriptor descriptor = two_level(inter, is_even ? allgather : allgatherv);
  descriptor.legality.needs_consecutive = !is_even;
  if (inter.ring_order) {
    descriptor.source += "; A6, figure 3.11";
    descriptor.parameters.push_back(overlap_parameter(0));
  }
  return descriptor;
}

// Inside a node a leader writes the blocks for all ranks as one message.
Descriptor of_all_blocks(Descriptor descriptor) {
  descriptor.legality.max_total_bytes = std::exchange(descriptor.legality.max_bytes, 0);
  return descriptor;
}

std::vector<Descriptor> compose(const std::vector<Descriptor>& simple) {
  std::vector<Descriptor> all;
  for (const Descriptor& inter : simple) {
    if (!is_for_leaders(inter)) continue;
    if (inter.operation == Operation::gather) {
      all.push_back(two_level(inter, gather(shared_gather)));
      if (has_few_rounds(inter)) all.push_back(fused_two_level(inter, gather(fused_gather)));
    }
    if (inter.operation == Operation::scatter) {
      all.push_back(two_level(inter, scatter(shared_scatter)));
      if (has_few_rounds(inter)) all.push_back(of_all_blocks(fused_two_level(inter, scatter(fused_scatter))));
    }
    if (inter.operation == Operation::allgather || inter.operation == Operation::allgatherv)
      all.push_back(two_level_allgather(inter));
  }
  return all;
}

const CompositionRegistration registration(compose);

}  // namespace
}  // namespace unisono::algorithms
