// SPDX-License-Identifier: BSD-3-Clause
// Allreduces by exchanges between pairs: recursive doubling, Rabenseifner. A5, section 3.2.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Doubling;
using patterns::Folding;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;
using Role = patterns::Folding::Role;

namespace {

Program recursive_doubling(const Problem& problem, const Parameters& parameters) {
  const Folding folding(problem.size);
  const Folding::Member me = folding.at(problem.rank);
  const auto exchange = [=](int round, Writer& writer) {
    if (me.role == Role::extra) return;
    const Doubling pair = patterns::recursive_doubling(me.index, round);
    const Ref mine = whole(joined_before(round, me));
    const Ref arrived = whole(Place::scratch).shifted(round % 2);
    writer.send(mine, folding.rank_of(pair.partner));
    writer.recv(arrived, folding.rank_of(pair.partner));
    join(writer, whole(Place::output), mine, arrived, pair.partner < me.index);
  };
  Composition composition;
  composition.reserve(2);
  composition.add(fold(problem, parameters, folding));
  composition.add(message_stage(parameters, folding.rounds(), exchange));
  composition.add(unfold(problem, parameters, folding));
  return composition.take();
}

Program rabenseifner(const Problem& problem, const Parameters& parameters) {
  const Folding folding(problem.size);
  Composition composition;
  composition.reserve(2);
  composition.add(fold(problem, parameters, folding));
  composition.add(halving_reduce_scatter(problem, folding, folding.rounds()));
  composition.add(halving_allgather(problem, folding, folding.rounds()));
  composition.add(unfold(problem, parameters, folding));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "recursive_doubling",
           .operation = Operation::allreduce,
           .group = "exchange",
           .sentence = "In each round pairs exchange all that they have joined, at distance 1, 2, 4 ...",
           .source = "A5, section 3.2",
           .legality = {.keeps_one_order = true},
           .parameters = {segment_parameter(), window_parameter()},
           .build = recursive_doubling,
           .place_among_agreements = 2},
          {.name = "rabenseifner",
           .operation = Operation::allreduce,
           .group = "exchange",
           .sentence =
               "Recursive halving leaves each rank one part of the result; recursive doubling spreads it.",
           .source = "A5, section 3.2; S1",
           .legality = {.keeps_one_order = true},
           .parameters = {},
           .build = rabenseifner}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
