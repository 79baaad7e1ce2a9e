// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/fused.h"

#include <utility>

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
Program fused_gather(const Problem& problem, const Parameters&) {
  return one_stage(local_stage([=](Writer& writer) {
    writer.node_gather(blocks(Place::output, 0, problem.size), block(Place::input, 0), problem.root);
  }));
}
Program fused_scatter(const Problem& problem, const Parameters&) {
  return one_stage(local_stage([=](Writer& writer) {
    writer.node_scatter(block(Place::output, 0), blocks(Place::input, 0, problem.size), problem.root);
  }));
}
Program fused_allgather(const Problem& problem, const Parameters&) {
  return one_stage(local_stage([=](Writer& writer) {
    writer.node_allgather(blocks(Place::output, 0, problem.size), block(Place::input, 0));
  }));
}
Program fused_alltoall(const Problem& problem, const Parameters&) {
  return one_stage(local_stage([=](Writer& writer) {
    writer.node_alltoall(blocks(Place::output, 0, problem.size), blocks(Place::input, 0, problem.size));
  }));
}

namespace {

Descriptor fused(Operation operation, std::string sentence,
                 Program (*build)(const Problem&, const Parameters&)) {
  return {.name = "fused",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A1, A2, table 2.2; G2",
          .legality = {.needs_one_node = true,
                       .needs_shared_memory = true,
                       .waits_inside = true,
                       .max_bytes = fused_max_bytes},
          .parameters = {},
          .build = build};
}

// A rank writes the blocks for all ranks as one message.
Descriptor of_all_blocks(Descriptor descriptor) {
  descriptor.legality.max_total_bytes = std::exchange(descriptor.legality.max_bytes, 0);
  return descriptor;
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
      fused(Operation::gather, "All write cache lines that carry data and flag; the root reads them.",
            fused_gather),
      of_all_blocks(
          fused(Operation::scatter,
                "The root writes cache lines that carry data and flag; each rank reads those with its block.",
                fused_scatter)),
      fused(Operation::allgather, "All write cache lines that carry data and flag; everyone reads them.",
            fused_allgather),
      of_all_blocks(
          fused(Operation::alltoall,
                "All write cache lines that carry data and flag; each rank reads those with its blocks.",
                fused_alltoall)),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
