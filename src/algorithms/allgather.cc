// SPDX-License-Identifier: BSD-3-Clause
// Allgathers by exchanges. A5, section 3.2; S1.
#include "algorithms/compose.h"
#include "algorithms/exchanges.h"
#include "algorithms/parameters.h"

namespace unisono::algorithms {

using patterns::BruckRound;
using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

Ref own_input(const Problem& problem) {
  return blocks(Place::input, 0, problem.blocks.last(problem.rank) - problem.blocks.first(problem.rank));
}

// The own block into its place, so that exchanges work on output alone.
Stage copy_own(const Problem& problem) {
  return local_stage([into = owned_blocks(problem).run(problem.rank, problem.rank + 1),
                      from = own_input(problem)](Writer& writer) { writer.copy(into, from); });
}

Program ring(const Problem& problem, const Parameters& parameters) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(ring_allgather(problem, parameters, owned_blocks(problem)));
  return composition.take();
}

Program recursive_doubling(const Problem& problem, const Parameters&) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(doubling_allgather(problem, owned_blocks(problem)));
  return composition.take();
}

// In scratch space a rank collects blocks in the order rank, rank + 1, ... and turns them into place at the
// end.
Program bruck(const Problem& problem, const Parameters&) {
  const int size = problem.size;
  const int rank = problem.rank;
  const schedule::Blocks all = problem.blocks;
  const std::int64_t total = all.last(size - 1);
  // How much the ranks from this one on have, `count` of them.
  const auto length_of = [=](int count) {
    const std::int64_t turned = rank + count < size ? 0 : total;
    return count == size ? total : all.first(wrap(rank + count, size)) - all.first(rank) + turned;
  };
  const auto exchange = [=](int round, Writer& writer) {
    const BruckRound bruck = patterns::bruck(rank, round, size);
    writer.send(blocks(Place::scratch, 0, length_of(bruck.count)), bruck.to);
    writer.recv(blocks(Place::scratch, length_of(bruck.blocks), length_of(bruck.blocks + bruck.count)),
                bruck.from);
  };
  const std::int64_t own = all.first(rank);
  Composition composition;
  composition.reserve(total);
  composition.add(local_stage(
      [=](Writer& writer) { writer.copy(blocks(Place::scratch, 0, length_of(1)), own_input(problem)); }));
  composition.add(message_stage({}, patterns::ceil_log2(size), exchange));
  composition.add(local_stage([=](Writer& writer) {
    writer.copy(blocks(Place::output, own, total), blocks(Place::scratch, 0, total - own));
    if (own > 0) writer.copy(blocks(Place::output, 0, own), blocks(Place::scratch, total - own, total));
  }));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "ring",
           .operation = Operation::allgather,
           .group = "ring",
           .sentence = "Blocks go around a ring, one each round.",
           .source = "A5, section 3.2",
           .legality = {},
           .parameters = {segment_parameter(), window_parameter()},
           .build = ring},
          {.name = "recursive_doubling",
           .operation = Operation::allgather,
           .group = "exchange",
           .sentence = "In each round pairs exchange all that they have, at distance 1, 2, 4 ...",
           .source = "A5, section 3.2",
           .legality = {.needs_power_of_two = true},
           .parameters = {},
           .build = recursive_doubling},
          {.name = "bruck",
           .operation = Operation::allgather,
           .group = "exchange",
           .sentence = "Each round doubles the run of blocks that a rank has, for any number of ranks.",
           .source = "A5, section 3.2; S1",
           .legality = {},
           .parameters = {},
           .build = bruck}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
