// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls whose blocks go straight to where they belong. A5, section 3.2; S1.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/phase_barriers.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Pair;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

// The own block, and `exchange`.
Program direct(const Problem& problem, const Items& items, Stage exchange) {
  Composition composition;
  composition.add(local_stage([own = items.run(problem.rank, problem.rank + 1)](Writer& writer) {
    writer.copy(own, own.in(Place::input));
  }));
  exchange.extent = items.longest;
  composition.add(std::move(exchange));
  return composition.take();
}

void send_block(Writer& writer, const Items& items, int to) {
  writer.send(items.run(to, to + 1).in(Place::input), to);
}
void receive_block(Writer& writer, const Items& items, int from) {
  writer.recv(items.run(from, from + 1), from);
}

Program simple(const Problem& problem, const Parameters& parameters) {
  const Items items = owned_blocks(problem);
  return direct(problem, items, message_stage(parameters, 1, [=](int, Writer& writer) {
                  for (int distance = 1; distance < problem.size; ++distance) {
                    send_block(writer, items, patterns::at_distance(problem.rank, distance, problem.size).to);
                  }
                  for (int distance = 1; distance < problem.size; ++distance) {
                    receive_block(writer, items,
                                  patterns::at_distance(problem.rank, distance, problem.size).from);
                  }
                }));
}

Program by_pairs(const Problem& problem, const Parameters& parameters, PairOf pair_of, Barrier barrier) {
  const Items items = owned_blocks(problem);
  return direct(problem, items,
                in_phases(problem, parameters, barrier, problem.size - 1, phase_by(pair_of, problem),
                          [=](int, const Pair& pair, Writer& writer) {
                            send_block(writer, items, pair.to);
                            receive_block(writer, items, pair.from);
                          }));
}

void add_synchronized(std::vector<Descriptor>* all, std::string_view name, const std::string& sentence,
                      PairOf pair_of) {
  for (const BarrierWords& words : barriers) {
    const Barrier barrier = words.barrier;
    all->push_back({.name = std::string(name) + std::string(words.suffix),
                    .operation = Operation::alltoall,
                    .group = words.group,
                    .sentence = sentence + std::string(words.clause),
                    .source = barrier == Barrier::none ? "A5, section 3.2; S1" : "S1",
                    .legality = {},
                    .parameters = {},
                    .build =
                        [=](const Problem& problem, const Parameters& parameters) {
                          return by_pairs(problem, parameters, pair_of, barrier);
                        },
                    .is_for_leaders = barrier == Barrier::none});
    if (barrier == Barrier::none) {
      all->back().parameters = {segment_parameter(), window_parameter(), rounds_parameter()};
    }
  }
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all = {{.name = "simple",
                                  .operation = Operation::alltoall,
                                  .group = "flat",
                                  .sentence = "All messages are posted at once, to the nearest ranks first.",
                                  .source = "A5, section 3.2; S1",
                                  .legality = {},
                                  .parameters = {segment_parameter(), window_parameter(), pace_parameter()},
                                  .build = simple}};
  add_synchronized(&all, "pairwise",
                   "In each round a rank exchanges with one other; for a power of two ranks in closed pairs",
                   patterns::pairwise);
  add_synchronized(&all, "ring",
                   "In round r a rank sends to the one r above it and receives from the one r below",
                   patterns::at_distance);
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
