// SPDX-License-Identifier: BSD-3-Clause
// Allgathers by messages. A5, section 3.2; S1.
#include "algorithms/building/allgathers.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Ref;
using schedule::Writer;

namespace {

// The own block into its place, so that exchanges work on output alone.
schedule::Stage copy_own(const Problem& problem, const Items& items) {
  const std::int64_t length = problem.blocks.last(problem.rank) - problem.blocks.first(problem.rank);
  return local_stage([into = items.run(problem.rank, problem.rank + 1),
                      from = blocks(Place::input, 0, length)](Writer& writer) { writer.copy(into, from); });
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const AllgatherFamily& family : allgather_families()) {
    all.push_back({.name = family.name,
                   .operation = Operation::allgather,
                   .group = family.group,
                   .sentence = family.sentence,
                   .source = family.source,
                   .legality = family.legality,
                   .parameters = family.parameters,
                   .build =
                       [&family](const Problem& problem, const Parameters& parameters) {
                         const Items items = owned_blocks(problem);
                         Composition composition;
                         composition.add(copy_own(problem, items));
                         family.add(&composition, problem, parameters, items);
                         return composition.take();
                       },
                   .is_for_leaders = family.is_for_leaders,
                   .is_free_of_contention = family.is_free_of_contention,
                   .ring_order = family.ring_order});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
