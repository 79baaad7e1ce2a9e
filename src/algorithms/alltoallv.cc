// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls of uneven blocks: a rank knows what it sends and what it gets, and no more. A5, section 3.2; S1.
#include <algorithm>

#include "algorithms/compose.h"
#include "algorithms/fused.h"
#include "algorithms/parameters.h"
#include "algorithms/shared.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::Pair;
using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

namespace {

Ref sent_to(int rank) {
  return block(Place::input, rank);
}
Ref received_from(const Problem& problem, int rank) {
  return block(Place::output, problem.size + rank);
}

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

// In each round everyone writes for one and reads from one; two lanes in turn.
Program shared_pairwise(const Problem& problem, const Parameters& parameters) {
  const int rounds = problem.size - 1;
  const auto put_done = [](int round) { return 2 * round - 1; };
  const auto got_done = [](int round) { return 2 * round; };
  Stage stage = channel_stage(parameters, SharedMode::own, got_done(rounds), [=](Writer& writer) {
    writer.await_space();
    writer.copy(received_from(problem, problem.rank), sent_to(problem.rank));
    for (int round = 1; round <= rounds; ++round) {
      const auto [to, from] = patterns::at_distance(problem.rank, round, problem.size);
      const int last_reader = patterns::at_distance(problem.rank, round - 2, problem.size).to;
      const int lane = round % 2;
      if (round > 2) writer.await(last_reader, got_done(round - 2));
      writer.copy(sent_to(to).in_slot_of(problem.rank, lane), sent_to(to));
      writer.signal(put_done(round));
      writer.await(from, put_done(round));
      writer.copy(received_from(problem, from), received_from(problem, from).in_slot_of(from, lane));
      writer.signal(got_done(round));
    }
  });
  stage.lanes = 2;
  return one_stage(std::move(stage));
}

// Every slot has a lane for each reader.
Program shared(const Problem& problem, const Parameters& parameters) {
  // The smallest area that a rank may have (16 KiB) has so many lanes of a cache line.
  constexpr int most_lanes = 256;
  if (problem.size > most_lanes) return shared_pairwise(problem, parameters);
  constexpr int written = 1;
  constexpr int read = 2;
  Stage stage = channel_stage(parameters, SharedMode::own, read, [=](Writer& writer) {
    writer.await_space();
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.copy(sent_to(peer).in_slot_of(problem.rank, peer), sent_to(peer));
    }
    writer.signal(written);
    writer.copy(received_from(problem, problem.rank), sent_to(problem.rank));
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank - distance, problem.size);
      const Ref theirs = received_from(problem, peer);
      writer.await(peer, written);
      writer.copy(theirs, theirs.in_slot_of(peer, problem.rank));
    }
  });
  stage.lanes = problem.size;
  stage.buffers = std::min(stage.buffers, most_lanes / problem.size);
  return one_stage(std::move(stage));
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
                   .build = shared,
                   .build_header = fused_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
