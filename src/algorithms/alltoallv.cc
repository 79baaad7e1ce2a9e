// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls of uneven blocks: a rank knows what it sends and what it gets, and no more. A5, section 3.2; S1.
#include "algorithms/compose.h"
#include "algorithms/fused.h"
#include "algorithms/parameters.h"
#include "algorithms/shared.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::Pair;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

Stage copy_own(const Problem& problem) {
  return local_stage(
      [=](Writer& writer) { writer.copy(received_from(problem, problem.rank), sent_to(problem.rank)); });
}

Program flat(const Problem& problem, const Parameters&) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(message_stage({}, 1, [=](int, Writer& writer) {
    for (int distance = 1; distance < problem.size; ++distance) {
      const int to = patterns::at_distance(problem.rank, distance, problem.size).to;
      writer.send(sent_to(to), to);
    }
    for (int distance = 1; distance < problem.size; ++distance) {
      const int from = patterns::at_distance(problem.rank, distance, problem.size).from;
      writer.recv(received_from(problem, from), from);
    }
  }));
  return composition.take();
}

Program pairwise(const Problem& problem, const Parameters& parameters) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(message_stage(parameters, problem.size - 1, [=](int round, Writer& writer) {
    const Pair pair = patterns::pairwise(problem.rank, round + 1, problem.size);
    writer.send(sent_to(pair.to), pair.to);
    writer.recv(received_from(problem, pair.from), pair.from);
  }));
  return composition.take();
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::alltoallv, Operation::alltoallw}) {
    all.push_back({.name = "flat",
                   .operation = operation,
                   .group = "flat",
                   .sentence = "All messages are posted at once, to the nearest ranks first.",
                   .source = "A5, section 3.2; S1",
                   .legality = {},
                   .parameters = {},
                   .build = flat});
    all.push_back(
        fused_blocks(operation,
                     "A pair's blocks travel in cache lines that carry data and flag; long ones in pieces "
                     "through a ring of the pair, or are copied by the kernel, or go as messages.",
                     flat));
    all.push_back({.name = "pairwise",
                   .operation = operation,
                   .group = "exchange",
                   .sentence = "In each round a rank exchanges with one other; for a power of two ranks in "
                               "closed pairs.",
                   .source = "A5, section 3.2; S1",
                   .legality = {},
                   .parameters = {rounds_parameter()},
                   .build = pairwise});
    all.push_back({.name = "shared",
                   .operation = operation,
                   .group = "shared",
                   .sentence = "Everyone tells how long its longest block is, then writes pieces for all "
                               "others side by side, and each reads its own.",
                   .source = "A2, table 2.2, row 4",
                   .legality = {.needs_one_node = true, .needs_shared_memory = true},
                   .parameters = {buffers_parameter(), piece_parameter()},
                   .build = shared_alltoall,
                   .build_header = fused_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
