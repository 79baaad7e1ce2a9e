// SPDX-License-Identifier: BSD-3-Clause
// Two-level algorithms of the operations on one vector, and of the barrier.
#include "algorithms/two_levels/two_level.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using NodePhase = Levels::NodePhase;

Overlap::Overlap(const Parameters& parameters) {
  constexpr int shares = 256;
  const std::int64_t segment = parameters.get_or("segment", 0);
  const std::int64_t overlap = parameters.get_or("overlap", whole_segment);
  const bool is_partial = 0 < overlap && overlap < segment;
  int count = overlap > 0 ? shares : 0;
  if (is_partial)
    count = static_cast<int>(std::clamp<std::int64_t>(overlap * shares / segment, 1, shares - 1));
  beside = {0, count, shares};
  apart = {count, shares - count, shares};
}

namespace {

// Where an overlap is asked for, the nodes' phase goes by the segments as well, unless it has pieces of its
// own.
Parameters of_node(const Parameters& parameters) {
  Parameters own = parameters;
  const std::int64_t overlap = parameters.get_or("overlap", whole_segment);
  if (parameters.get_or("piece", 0) == 0 && overlap > 0 && overlap < whole_segment) {
    own.set("piece", parameters.get_or("segment", 0));
  }
  return own;
}

}  // namespace

void add_node_after(Composition* to, const Levels& levels, Operation operation, NodePhase phase,
                    const Parameters& parameters, const std::vector<Mapping>& items) {
  const Overlap overlap(parameters);
  bool is_next = false;
  const auto add = [&](const Share& share, bool is_apart) {
    for (const Mapping& item : items) {
      if (share.count == 0) return;
      levels.add_node(to, operation, phase, of_node(parameters),
                      {.share = share, .is_next = std::exchange(is_next, true), .begins_apart = is_apart},
                      item);
      is_apart = false;
    }
  };
  add(overlap.beside, false);
  add(overlap.apart, true);
}

bool add_node_before(Composition* to, const Levels& levels, Operation operation, NodePhase phase,
                     const Parameters& parameters) {
  const Overlap overlap(parameters);
  if (!overlap.is_total())
    levels.add_node(to, operation, phase, of_node(parameters), {.share = overlap.apart});
  if (!overlap.is_none()) {
    levels.add_node(
        to, operation, phase, of_node(parameters),
        {.share = overlap.beside, .is_next = !overlap.is_total(), .begins_apart = !overlap.is_total()});
  }
  return overlap.is_none();
}

bool is_for_leaders(const Descriptor& inter) {
  return inter.is_for_leaders && !inter.legality.needs_shared_memory && !inter.legality.needs_several_nodes;
}

Descriptor two_level(const Descriptor& inter, TwoLevelBuild build) {
  Descriptor descriptor = inter;
  descriptor.name = "two_level_" + inter.name;
  descriptor.group = "two-level";
  descriptor.sentence = "Shared memory inside the nodes, and between their leaders: " + inter.sentence;
  descriptor.source = "G3; " + inter.source;
  // Statements on the leaders' messages alone.
  descriptor.is_free_of_contention = false;
  descriptor.ring_order = {};
  descriptor.legality.needs_several_nodes = true;
  descriptor.legality.needs_shared_memory = true;
  descriptor.legality.needs_consecutive_unless_commutative =
      is_reduction(inter.operation) && !inter.legality.needs_commutative;
  descriptor.parameters.push_back(buffers_parameter());
  descriptor.parameters.push_back(piece_parameter());
  descriptor.build = [inter, build = std::move(build)](const Problem& problem, const Parameters& parameters) {
    Composition composition;
    build(&composition, Levels(problem), inter, parameters);
    return composition.take();
  };
  return descriptor;
}

namespace {

// Inside a node the leader has what the node's ranks have joined in its output.
const Mapping leaders_output_alone{.input = {Place::output}};

TwoLevelBuild bcast(NodePhase on_node) {
  return [=](Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
    levels.add_leaders(to, inter, parameters);
    add_node_after(to, levels, Operation::bcast, on_node, parameters);
  };
}

TwoLevelBuild reduce(NodePhase on_node) {
  return [=](Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
    const bool is_apart = add_node_before(to, levels, Operation::reduce, on_node, parameters);
    levels.add_leaders(to, inter, parameters, leaders_output_alone, is_apart);
  };
}

TwoLevelBuild allreduce(NodePhase reduce_on_node, NodePhase bcast_on_node) {
  return [=](Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
    const bool is_apart = add_node_before(to, levels, Operation::reduce, reduce_on_node, parameters);
    levels.add_leaders(to, inter, parameters, leaders_output_alone, is_apart);
    add_node_after(to, levels, Operation::bcast, bcast_on_node, parameters);
  };
}

void barrier(Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
  levels.add_node(to, Operation::barrier, fused_arrival, parameters);
  levels.add_leaders(to, inter, parameters);
  levels.add_node(to, Operation::barrier, fused_release, parameters);
}

// Without a channel there are no slots to choose.
Descriptor without_channel(Descriptor descriptor) {
  std::erase_if(descriptor.parameters, [](const ParameterSpec& spec) {
    return spec.name == "buffers" || spec.name == "piece" || spec.name == "overlap";
  });
  return descriptor;
}

Descriptor waiting(Descriptor descriptor) {
  descriptor.legality.waits_inside = true;
  return descriptor;
}

}  // namespace

Descriptor fused_two_level(const Descriptor& inter, TwoLevelBuild build) {
  Descriptor descriptor = without_channel(two_level(inter, std::move(build)));
  descriptor.name = "two_level_fused_" + inter.name;
  descriptor.sentence =
      "One fused step at a time inside the nodes, and between their leaders: " + inter.sentence;
  descriptor.legality.waits_inside = true;
  descriptor.legality.max_bytes = fused_max_bytes;
  return descriptor;
}

bool has_few_rounds(const Descriptor& inter) {
  constexpr std::array<std::string_view, 5> names = {"flat", "binomial", "k_nomial", "recursive_doubling",
                                                     "reduce_bcast"};
  return std::ranges::find(names, inter.name) != names.end();
}

namespace {

std::vector<Descriptor> compose(const std::vector<Descriptor>& simple) {
  std::vector<Descriptor> all;
  const auto add = [&all](const Descriptor& inter, const TwoLevelBuild& through_channels,
                          const TwoLevelBuild& fused) {
    all.push_back(two_level(inter, through_channels));
    const bool has_segments =
        std::ranges::find(inter.parameters, "segment", &ParameterSpec::name) != inter.parameters.end();
    if (has_segments) {
      all.back().source += "; A6, section 3.4";
      all.back().parameters.push_back(overlap_parameter());
    }
    all.back().parameters.push_back(domains_parameter());
    if (has_few_rounds(inter)) {
      all.push_back(fused_two_level(inter, fused));
      all.back().parameters.push_back(domains_parameter());
    }
  };
  for (const Descriptor& inter : simple) {
    if (!is_for_leaders(inter)) continue;
    if (!moves_data(inter.operation)) {
      all.push_back(waiting(without_channel(two_level(inter, barrier))));
      all.back().parameters.push_back(domains_parameter());
    }
    if (inter.operation == Operation::bcast) add(inter, bcast(shared_bcast), bcast(fused_bcast));
    if (inter.operation == Operation::reduce) add(inter, reduce(shared_reduce), reduce(fused_reduce));
    if (inter.operation == Operation::allreduce) {
      add(inter, allreduce(shared_reduce, shared_bcast), allreduce(fused_reduce, fused_bcast));
    }
  }
  return all;
}

const CompositionRegistration registration(compose);

}  // namespace
}  // namespace unisono::algorithms
