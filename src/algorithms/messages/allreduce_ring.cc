// SPDX-License-Identifier: BSD-3-Clause
// Allreduce around a ring. A5, section 3.2.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Ring;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

// Each part goes once around and every rank joins its own to it; then the finished parts go around.
Program ring(const Problem& problem, const Parameters& parameters) {
  const Ring ring{problem.size};
  const int rank = problem.rank;
  const int size = problem.size;
  const auto reduce_scatter = [=](int round, Writer& writer) {
    const Ref leaving = part(round == 0 ? Place::input : Place::output, ring.passed_on(rank, round), size);
    const Ref result = part(Place::output, ring.passed_on(ring.previous(rank), round), size);
    writer.send(leaving, ring.next(rank));
    writer.recv(result.in(Place::scratch), ring.previous(rank));
    writer.reduce(result, result.in(Place::scratch), result.in(Place::input));
  };
  Stage stage = message_stage(parameters, size - 1, reduce_scatter);
  stage.extent_parts = size;
  // A rank has finished the part that its successor began with.
  Items items = vector_parts(size);
  items.run = [run = items.run, ring](int first, int) { return run(ring.next(first), ring.next(first) + 1); };
  Composition composition;
  composition.reserve(1);
  composition.add(std::move(stage));
  composition.add(ring_allgather(problem, parameters, items));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {
      {.name = "ring",
       .operation = Operation::allreduce,
       .group = "ring",
       .sentence = "Parts go around a ring and are joined on the way; the finished parts go around again.",
       .source = "A5, section 3.2",
       .legality = {.needs_commutative = true},
       .parameters = {segment_parameter(64 << 10), window_parameter()},
       .build = ring}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
