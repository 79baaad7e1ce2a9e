// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that are wrong, for tests of the self-check. They are linked into tests and into adapters that
// only tests load, never into the product. The algorithm "faulty" does what a right one does, and then spoils
// the last rank's result.
#include "algorithms/building/compose.h"

namespace unisono::algorithms {
namespace {

using schedule::Place;
using schedule::Problem;
using schedule::Writer;

Descriptor spoiled(Operation operation, std::string_view name, void (*spoil)(Writer& writer)) {
  Descriptor descriptor{.name = "faulty",
                        .operation = operation,
                        .group = "faulty",
                        .sentence = "Spoils the last rank's result.",
                        .source = "tests",
                        .legality = {}};
  descriptor.is_for_leaders = false;
  descriptor.build = [=](const Problem& problem, const Parameters&) {
    const Descriptor& right = *find(operation, name);
    Composition composition;
    composition.add(right.build(problem, with_standards(right)));
    composition.add(local_stage([=, is_last = problem.rank + 1 == problem.size](Writer& writer) {
      if (is_last) spoil(writer);
    }));
    return composition.take();
  };
  return descriptor;
}

std::vector<Descriptor> make() {
  const auto join_twice = [](Writer& writer) {
    writer.reduce(whole(Place::output), whole(Place::output), whole(Place::output));
  };
  const auto copy_half = [](Writer& writer) {
    writer.copy(part(Place::output, 0, 2), part(Place::output, 1, 2));
  };
  const auto copy_block = [](Writer& writer) {
    writer.copy(block(Place::output, 0), block(Place::output, 1));
  };
  return {spoiled(Operation::allreduce, "recursive_doubling", join_twice),
          spoiled(Operation::scan, "chain", join_twice), spoiled(Operation::bcast, "binomial", copy_half),
          spoiled(Operation::allgather, "ring", copy_block)};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
