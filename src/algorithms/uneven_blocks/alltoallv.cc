// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls of uneven blocks: a rank knows what it sends and what it gets, and no more. A5, section 3.2; S1.
// On two levels only the way of a block depends on the level. Leaders that bundle would have to know how long
// the blocks of all pairs are: docs/inside/engines.md, 'Uneven blocks'.
#include <functional>
#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/building/levels.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::Pair;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

// Does this rank exchange messages with that one?
using IsPeer = std::function<bool(int peer)>;

Stage copy_own(const Problem& problem) {
  return local_stage(
      [=](Writer& writer) { writer.copy(received_from(problem, problem.rank), sent_to(problem.rank)); });
}

Stage flat_messages(const Problem& problem, const Parameters& parameters, const IsPeer& is_peer) {
  return message_stage(parameters, 1, [=](int, Writer& writer) {
    for (int distance = 1; distance < problem.size; ++distance) {
      const int to = patterns::at_distance(problem.rank, distance, problem.size).to;
      if (is_peer(to)) writer.send(sent_to(to), to);
    }
    for (int distance = 1; distance < problem.size; ++distance) {
      const int from = patterns::at_distance(problem.rank, distance, problem.size).from;
      if (is_peer(from)) writer.recv(received_from(problem, from), from);
    }
  });
}

Stage pairwise_messages(const Problem& problem, const Parameters& parameters, const IsPeer& is_peer) {
  return message_stage(parameters, problem.size - 1, [=](int round, Writer& writer) {
    const Pair pair = patterns::pairwise(problem.rank, round + 1, problem.size);
    if (is_peer(pair.to)) writer.send(sent_to(pair.to), pair.to);
    if (is_peer(pair.from)) writer.recv(received_from(problem, pair.from), pair.from);
  });
}

using Messages = Stage (*)(const Problem&, const Parameters&, const IsPeer&);

Descriptor::Build on_one_level(Messages messages) {
  return [=](const Problem& problem, const Parameters& parameters) {
    Composition composition;
    composition.add(copy_own(problem));
    composition.add(messages(problem, parameters, [](int) { return true; }));
    return composition.take();
  };
}

// A node's blocks, among those of all ranks.
Program through_shared_memory(const Problem& problem, const Parameters& parameters) {
  const Levels levels(problem);
  if (levels.node().size == 1) return one_stage(copy_own(problem));
  const auto rank_of = [layout = problem.layout, node = levels.leaders().rank](int local) {
    return layout->ranks_of[node][local];
  };
  return shared_alltoall_of(
      levels.node(), parameters,
      {.sent_to = [=](int local) { return sent_to(rank_of(local)); },
       .received_from = [=](int local) { return received_from(problem, rank_of(local)); }});
}

// The messages to other nodes are under way while the node's blocks go through shared memory.
Descriptor::Build on_two_levels(Messages messages) {
  return [=](const Problem& problem, const Parameters& parameters) {
    Composition composition;
    composition.add(messages(problem, parameters, [layout = problem.layout, rank = problem.rank](int peer) {
      return layout->node_of[peer] != layout->node_of[rank];
    }));
    composition.add(through_shared_memory(problem, parameters));
    return composition.take();
  };
}

Descriptor by_messages(Operation operation, std::string name, std::string_view group, std::string sentence,
                       std::vector<ParameterSpec> parameters, Descriptor::Build build) {
  return {.name = std::move(name),
          .operation = operation,
          .group = group,
          .sentence = std::move(sentence),
          .source = "A5, section 3.2; S1",
          .legality = {},
          .parameters = std::move(parameters),
          .build = std::move(build)};
}

// What one of them does between nodes.
Descriptor two_level(Descriptor descriptor, Messages messages) {
  descriptor.name = "two_level_" + descriptor.name;
  descriptor.group = "two-level";
  descriptor.sentence =
      "A node's blocks go through shared memory, those for other nodes as messages: " + descriptor.sentence;
  descriptor.source = "G3; A2, table 2.2, row 4; " + descriptor.source;
  descriptor.legality = {.needs_several_nodes = true, .needs_shared_memory = true};
  descriptor.parameters.push_back(buffers_parameter());
  descriptor.parameters.push_back(piece_parameter());
  descriptor.build = on_two_levels(messages);
  descriptor.build_header = fused_allgather;
  descriptor.build_header_aside = standard_shared_allgather;
  return descriptor;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::alltoallv, Operation::alltoallw}) {
    const Descriptor flat =
        by_messages(operation, "flat", "flat", "All messages are posted at once, to the nearest ranks first.",
                    {pace_parameter()}, on_one_level(flat_messages));
    const Descriptor pairwise = by_messages(
        operation, "pairwise", "exchange",
        "In each round a rank exchanges with one other; for a power of two ranks in closed pairs.",
        {rounds_parameter()}, on_one_level(pairwise_messages));
    all.insert(all.end(),
               {flat, pairwise, two_level(flat, flat_messages), two_level(pairwise, pairwise_messages)});
    all.push_back(
        fused_blocks(operation,
                     "A pair's blocks travel in cache lines that carry data and flag; long ones in pieces "
                     "through a ring of the pair, or are copied by the kernel, or go as messages.",
                     flat.build));
    all.push_back({.name = "shared",
                   .operation = operation,
                   .group = "shared",
                   .sentence = "Everyone tells how long its longest block is, then writes pieces for all "
                               "others side by side, and each reads its own.",
                   .source = "A2, table 2.2, row 4",
                   .legality = {.needs_one_node = true, .needs_shared_memory = true},
                   .parameters = {buffers_parameter(), piece_parameter()},
                   .build = shared_alltoall,
                   .build_header = fused_allgather,
                   .build_header_aside = standard_shared_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
