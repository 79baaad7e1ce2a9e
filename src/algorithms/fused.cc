// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/fused.h"

#include "algorithms/compose.h"
#include "algorithms/parameters.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;

Program fused_barrier(const Problem&, const Parameters&) {
  return one_stage(local_stage([](Writer& writer) { writer.node_barrier(); }));
}
Program fused_bcast(const Problem& problem, const Parameters&) {
  return one_stage(
      local_stage([=](Writer& writer) { writer.node_bcast(whole(Place::output), problem.root); }));
}
Program fused_reduce(const Problem& problem, const Parameters&) {
  return one_stage(local_stage(
      [=](Writer& writer) { writer.node_reduce(whole(Place::output), whole(Place::input), problem.root); }));
}
Program fused_allreduce(const Problem&, const Parameters&) {
  return one_stage(
      local_stage([](Writer& writer) { writer.node_allreduce(whole(Place::output), whole(Place::input)); }));
}
Program fused_allgather(const Problem&, const Parameters&) {
  return one_stage(local_stage(
      [](Writer& writer) { writer.node_allgather(block(Place::output, 0), block(Place::input, 0)); }));
}

namespace {

Descriptor fused(Operation operation, std::string sentence,
                 Program (*build)(const Problem&, const Parameters&)) {
  return {.name = "fused",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A1, A2, table 2.2; G2",
          .legality = {.needs_one_node = true, .needs_shared_memory = true, .max_bytes = fused_max_bytes},
          .parameters = {},
          .build = build};
}

std::vector<Descriptor> make() {
  return {
      fused(Operation::barrier, "One step through shared cache lines.", fused_barrier),
      fused(Operation::bcast, "The root writes cache lines that carry data and flag; all read them.",
            fused_bcast),
      fused(Operation::reduce, "All write cache lines that carry data and flag; the root joins them.",
            fused_reduce),
      fused(Operation::allreduce, "All write cache lines that carry data and flag; everyone joins them.",
            fused_allreduce),
      fused(Operation::allgather, "All write cache lines that carry data and flag; everyone reads them.",
            fused_allgather),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
