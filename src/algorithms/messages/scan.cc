// SPDX-License-Identifier: BSD-3-Clause
// Scans by messages: along a chain, and by recursive doubling. Both keep the order of the operands. An
// exclusive scan leaves rank 0's output alone: MPI gives it no meaning.
#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "patterns/numbers.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

namespace {

// Each rank joins its operand to what comes from the rank before it, and passes that on.
Program chain(const Problem& problem, const Parameters& parameters) {
  const int rank = problem.rank;
  const bool is_last = rank == problem.size - 1;
  const Ref own = whole(Place::input);
  const Ref result = whole(Place::output);
  const Ref joined = whole(Place::scratch);
  const auto inclusive = [=](int, Writer& writer) {
    if (rank == 0) {
      writer.copy(result, own);
    } else {
      writer.recv(joined, rank - 1);
      writer.reduce(result, joined, own);
    }
    if (!is_last) writer.send(result, rank + 1);
  };
  // In place the operand stands where the result is to be: what arrives waits elsewhere.
  const Ref arrived = problem.is_in_place ? joined.shifted(1) : result;
  const auto exclusive = [=](int, Writer& writer) {
    if (rank == 0) {
      writer.send(own, 1);
      return;
    }
    writer.recv(arrived, rank - 1);
    if (!is_last) {
      writer.reduce(joined, arrived, own);
      writer.send(joined, rank + 1);
    }
    if (arrived != result) writer.copy(result, arrived);
  };
  if (problem.operation == Operation::scan) return one_stage(message_stage(parameters, 1, inclusive), 1);
  return one_stage(message_stage(parameters, 1, exclusive), 2);
}

// Before round r a rank has joined the operands of the 2^r ranks up to itself, as far as there are so many.
Program recursive_doubling(const Problem& problem, const Parameters& parameters) {
  const bool is_inclusive = problem.operation == Operation::scan;
  const Ref result = whole(Place::output);
  const Ref joined = is_inclusive ? result : whole(Place::scratch).shifted(2);
  const auto exchange = [=, rank = problem.rank, size = problem.size](int round, Writer& writer) {
    const int distance = 1 << round;
    const Ref mine = round == 0 || rank == 0 ? whole(Place::input) : joined;
    const Ref arrived = whole(Place::scratch).shifted(round % 2);
    const bool has_next = rank + distance < size;
    if (has_next) writer.send(mine, rank + distance);
    if (rank < distance) return;
    writer.recv(arrived, rank - distance);
    // The last one's joined operands are wanted by nobody.
    if (is_inclusive || rank + 2 * distance < size) writer.reduce(joined, arrived, mine);
    if (is_inclusive) return;
    if (round == 0) {
      writer.copy(result, arrived);
    } else {
      writer.reduce(result, arrived, result);
    }
  };
  Composition composition;
  composition.reserve(is_inclusive ? 2 : 3);
  composition.add(message_stage(parameters, patterns::ceil_log2(problem.size), exchange));
  composition.add(local_stage([=, rank = problem.rank](Writer& writer) {
    if (is_inclusive && rank == 0) writer.copy(result, whole(Place::input));
  }));
  return composition.take();
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::scan, Operation::exscan}) {
    all.push_back(
        {.name = "chain",
         .operation = operation,
         .group = "tree",
         .sentence = "Each rank joins its operand to what comes from the one before, and passes it on.",
         .source = "A5, figure 3.1 (d)",
         .legality = {.keeps_one_order = true},
         .parameters = {segment_parameter(64 << 10), window_parameter()},
         .build = chain});
    all.push_back({.name = "recursive_doubling",
                   .operation = operation,
                   .group = "exchange",
                   .sentence = "In each round a rank passes what it has joined 1, 2, 4 ... ranks on.",
                   .source = "A5, section 3.2",
                   .legality = {},
                   .parameters = {segment_parameter(), window_parameter()},
                   .build = recursive_doubling});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
