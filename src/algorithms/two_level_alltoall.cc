// SPDX-License-Identifier: BSD-3-Clause
// Two-level alltoall: leaders collect what their nodes have for each other node, exchange it, and hand it
// out. Counts of messages between nodes fall from ppn^2 to 1.
#include <algorithm>
#include <utility>

#include "algorithms/shared.h"
#include "algorithms/two_level.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

namespace {

// Into `leaving` at the leader, for each node: for each local rank: its blocks for that node's ranks.
Stage collect(const Levels& levels, const Parameters& parameters, const Seat& leaving) {
  const Problem& node = levels.node();
  const Problem& leaders = levels.leaders();
  Stage stage = channel_stage(parameters, SharedMode::own, 1, [=](Writer& writer) {
    const auto run_for = [&](int other) {
      return blocks(Place::input, leaders.blocks.first(other), leaders.blocks.last(other));
    };
    if (node.rank != node.root) writer.await_space();
    for (int local = 0; local < node.size; ++local) {
      if (node.rank != node.root && node.rank != local) continue;
      if (node.rank != local) writer.await(local, 1);
      for (int other = 0; other < leaders.size; ++other) {
        const Ref run = run_for(other);
        const Ref slot = run.in_slot_of(local, other);
        const std::int64_t first = leaving.units + node.size * run.first + local * (run.last - run.first);
        const Ref into = blocks(leaving.place, first, first + run.last - run.first);
        writer.copy(node.rank == node.root ? into : slot, node.rank == local ? run : slot);
      }
    }
  });
  stage.lanes = leaders.size;
  for (int other = 0; other < leaders.size; ++other) {
    stage.extent = std::max(stage.extent, leaders.blocks.last(other) - leaders.blocks.first(other));
  }
  if (node.size == 1) stage.shared = SharedMode::none;
  return stage;
}

// What has arrived stands by sending rank, then by local rank; what is handed out the other way round.
Stage transpose(const Levels& levels, const Seat& arrived, const Seat& sorted) {
  return local_stage([=, ranks = levels.size(), locals = levels.node().size](Writer& writer) {
    for (int local = 0; local < locals; ++local) {
      for (int rank = 0; rank < ranks; ++rank) {
        const std::int64_t into = sorted.units + static_cast<std::int64_t>(local) * ranks + rank;
        const std::int64_t from = arrived.units + static_cast<std::int64_t>(rank) * locals + local;
        writer.copy(block(sorted.place, into), block(arrived.place, from));
      }
    }
  });
}

void alltoall(Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
  const std::int64_t ranks = levels.size();
  const std::int64_t area = levels.is_leader() ? ranks * levels.node().size : 0;
  const Seat leaving{Place::scratch, to->reserve(area)};
  const Seat arrived{Place::scratch, to->reserve(area)};
  const Seat sorted{Place::scratch, to->reserve(area)};
  to->add(collect(levels, parameters, leaving));
  levels.add_leaders(to, inter, parameters,
                     {.input = leaving, .output = arrived, .scale = levels.node().size});
  if (levels.is_leader()) {
    to->add(transpose(levels, arrived, sorted));
  } else {
    to->add(local_stage([](Writer&) {}));
  }
  levels.add_node(to, Operation::scatter, shared_scatter, parameters, {.input = sorted, .scale = ranks});
}

std::vector<Descriptor> compose(const std::vector<Descriptor>& simple) {
  std::vector<Descriptor> all;
  for (const Descriptor& inter : simple) {
    // Bruck's wants blocks of one size.
    if (inter.operation != Operation::alltoall || !is_for_leaders(inter) || inter.name == "bruck") continue;
    Descriptor descriptor = two_level(inter, alltoall);
    descriptor.legality.needs_consecutive = true;
    // The longest message differs from node to node, so that messages are not cut.
    std::erase_if(descriptor.parameters,
                  [](const ParameterSpec& spec) { return spec.name == "segment" || spec.name == "window"; });
    all.push_back(std::move(descriptor));
  }
  return all;
}

const CompositionRegistration registration(compose);

}  // namespace
}  // namespace unisono::algorithms
