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
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

// `exchange` writes the messages of a round, whose blocks lie in `source`. In place, what arrives would
// overwrite what has yet to leave: there, everything is first put aside.
using Exchange = std::function<void(int round, Place source, Writer& writer)>;
Program direct(const Problem& problem, const Parameters& parameters, int rounds, const Exchange& exchange) {
  const std::int64_t total = problem.blocks.last(problem.size - 1);
  const Place source = problem.is_in_place ? Place::scratch : Place::input;
  Composition composition;
  if (problem.is_in_place) composition.reserve(total);
  composition.add(local_stage([=](Writer& writer) {
    const Ref all = blocks(Place::output, 0, total);
    const Ref own = owned_blocks(problem).run(problem.rank, problem.rank + 1);
    if (problem.is_in_place) writer.copy(all.in(Place::scratch), all);
    if (!problem.is_in_place) writer.copy(own, own.in(Place::input));
  }));
  Stage stage =
      message_stage(parameters, rounds, [=](int round, Writer& writer) { exchange(round, source, writer); });
  stage.extent = owned_blocks(problem).longest;
  composition.add(std::move(stage));
  return composition.take();
}

Program flat(const Problem& problem, const Parameters& parameters) {
  const Items items = owned_blocks(problem);
  return direct(problem, parameters, 1, [=](int, Place source, Writer& writer) {
    for (int distance = 1; distance < problem.size; ++distance) {
      const int to = patterns::at_distance(problem.rank, distance, problem.size).to;
      writer.send(items.run(to, to + 1).in(source), to);
    }
    for (int distance = 1; distance < problem.size; ++distance) {
      const int from = patterns::at_distance(problem.rank, distance, problem.size).from;
      writer.recv(items.run(from, from + 1), from);
    }
  });
}

using PairOf = Pair (*)(int rank, int round, int size);
Program by_pairs(const Problem& problem, const Parameters& parameters, PairOf pair_of) {
  const Items items = owned_blocks(problem);
  return direct(problem, parameters, problem.size - 1, [=](int round, Place source, Writer& writer) {
    const Pair pair = pair_of(problem.rank, round + 1, problem.size);
    writer.send(items.run(pair.to, pair.to + 1).in(source), pair.to);
    writer.recv(items.run(pair.from, pair.from + 1), pair.from);
  });
}

Descriptor descriptor(std::string name, std::string_view group, std::string sentence,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = std::move(name),
          .operation = Operation::alltoall,
          .group = group,
          .sentence = std::move(sentence),
          .source = "A5, section 3.2; S1",
          .legality = {},
          .parameters = {segment_parameter(), window_parameter()},
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
