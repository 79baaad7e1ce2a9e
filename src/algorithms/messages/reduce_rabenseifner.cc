// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's reduction of long vectors. A5, section 3.2.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"

namespace unisono::algorithms {

using patterns::Folding;
using patterns::Halving;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;
using Role = patterns::Folding::Role;

namespace {

// Halving leaves each member of the base one joined part. That is undone in reversed order, so that parts go
// towards the root. A member takes part in a round if its number agrees with the root's in all bits undone so
// far. If the number differs in the next bit, the member sends.
Program rabenseifner(const Problem& problem, const Parameters&) {
  const Folding folding(problem.size, problem.root);
  const Folding::Member me = folding.at(problem.rank);
  const int root = folding.at(problem.root).index;
  const auto gather = [=](int round, Writer& writer) {
    const int bit = folding.rounds() - 1 - round;
    const int differing = me.index ^ root;
    if (me.role == Role::extra || (differing >> (bit + 1)) != 0) return;
    const Halving halving = patterns::recursive_halving(me.index, bit, folding.base());
    const int partner = folding.rank_of(halving.partner);
    if ((differing >> bit) != 0) {
      writer.send(parts(Place::output, halving.keep_first, halving.keep_last, folding.base()), partner);
    } else {
      writer.recv(parts(Place::output, halving.give_first, halving.give_last, folding.base()), partner);
    }
  };
  Composition composition;
  composition.reserve(2);
  composition.add(fold(problem, {}, folding));
  composition.add(halving_reduce_scatter(problem, folding, folding.rounds()));
  composition.add(message_stage({}, folding.rounds(), gather));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {
      {.name = "rabenseifner",
       .operation = Operation::reduce,
       .group = "exchange",
       .sentence = "Recursive halving leaves each rank one part of the result; the root gathers the parts.",
       .source = "A5, section 3.2; S1",
       .legality = {.keeps_one_order = true},
       .parameters = {},
       .build = rabenseifner}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
