// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls whose blocks go straight to where they belong. A5, section 3.2; S1.
#include "algorithms/compose.h"
#include "algorithms/exchanges.h"
#include "algorithms/parameters.h"

namespace unisono::algorithms {

using patterns::Pair;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

// The own block, and `exchange`, which writes the messages of a round.
Program direct(const Problem& problem, const Parameters& parameters, int rounds,
               std::function<void(int round, const Items& items, Writer& writer)> exchange) {
  const Items items = owned_blocks(problem);
  Composition composition;
  composition.add(local_stage([own = items.run(problem.rank, problem.rank + 1)](Writer& writer) {
    writer.copy(own, own.in(Place::input));
  }));
  Stage stage =
      message_stage(parameters, rounds, [=](int round, Writer& writer) { exchange(round, items, writer); });
  stage.extent = items.longest;
  composition.add(std::move(stage));
  return composition.take();
}

void send_block(Writer& writer, const Items& items, int to) {
  writer.send(items.run(to, to + 1).in(Place::input), to);
}
void receive_block(Writer& writer, const Items& items, int from) {
  writer.recv(items.run(from, from + 1), from);
}

Program flat(const Problem& problem, const Parameters& parameters) {
  return direct(problem, parameters, 1, [=](int, const Items& items, Writer& writer) {
    for (int distance = 1; distance < problem.size; ++distance) {
      send_block(writer, items, patterns::at_distance(problem.rank, distance, problem.size).to);
    }
    for (int distance = 1; distance < problem.size; ++distance) {
      receive_block(writer, items, patterns::at_distance(problem.rank, distance, problem.size).from);
    }
  });
}

using PairOf = Pair (*)(int rank, int round, int size);
Program by_pairs(const Problem& problem, const Parameters& parameters, PairOf pair_of) {
  return direct(problem, parameters, problem.size - 1, [=](int round, const Items& items, Writer& writer) {
    const Pair pair = pair_of(problem.rank, round + 1, problem.size);
    send_block(writer, items, pair.to);
    receive_block(writer, items, pair.from);
  });
}

Descriptor descriptor(std::string name, std::string_view group, std::string sentence,
                      Program (*build)(const Problem&, const Parameters&)) {
  std::vector<ParameterSpec> parameters{segment_parameter(), window_parameter()};
  if (group != "flat") parameters.push_back(rounds_parameter());
  return {.name = std::move(name),
          .operation = Operation::alltoall,
          .group = group,
          .sentence = std::move(sentence),
          .source = "A5, section 3.2; S1",
          .legality = {},
          .parameters = std::move(parameters),
          .build = build};
}

std::vector<Descriptor> make() {
  return {
      descriptor("flat", "flat", "All messages are posted at once, to the nearest ranks first.", flat),
      descriptor("pairwise", "exchange",
                 "In each round a rank exchanges with one other; for a power of two ranks in closed pairs.",
                 [](const Problem& problem, const Parameters& parameters) {
                   return by_pairs(problem, parameters, patterns::pairwise);
                 }),
      descriptor("ring", "ring",
                 "In round r a rank sends to the one r above it and receives from the one r below.",
                 [](const Problem& problem, const Parameters& parameters) {
                   return by_pairs(problem, parameters, patterns::at_distance);
                 }),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
