// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/shared_memory/fused.h"

#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/building/order.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/along_domains.h"
#include "shm/slice/slice.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

namespace {

// A fused reduction joins from the left, which up to three ranks is the one order.
bool needs_vectors(const Problem& problem) {
  constexpr int most_from_left = 3;
  return problem.is_reproducible && problem.size > most_from_left;
}

// The vectors of all ranks side by side in scratch space, and behind them what is joined of them.
Program with_vectors(int size, std::function<void(Writer&, const Ref& vectors)> write, bool is_joining) {
  const std::int64_t scratch = size + temporaries_of_order(size);
  return one_stage(local_stage([=](Writer& writer) {
                     write(writer, blocks(Place::scratch, 0, size));
                     if (!is_joining) return;
                     join_in_order(
                         writer, size, whole(Place::output),
                         [](int rank) { return block(Place::scratch, rank); },
                         [&](int i) { return block(Place::scratch, size + i); });
                   }),
                   scratch);
}

}  // namespace

namespace {

Program barrier_part(const Problem& problem, const Parameters& parameters, std::int32_t half) {
  return one_stage(local_stage([half, along = tree_along_domains(problem, parameters)](Writer& writer) {
    writer.node_barrier(along, half);
  }));
}

}  // namespace

Program fused_barrier(const Problem& problem, const Parameters& parameters) {
  return barrier_part(problem, parameters, schedule::both_halves);
}
Program fused_arrival(const Problem& problem, const Parameters& parameters) {
  return barrier_part(problem, parameters, schedule::upper_half);
}
Program fused_release(const Problem& problem, const Parameters& parameters) {
  return barrier_part(problem, parameters, schedule::lower_half);
}
Program fused_bcast(const Problem& problem, const Parameters& parameters) {
  return one_stage(local_stage([=, along = tree_along_domains(problem, parameters)](Writer& writer) {
    writer.node_bcast(whole(Place::output), problem.root, along);
  }));
}
Program fused_reduce(const Problem& problem, const Parameters& parameters) {
  if (needs_vectors(problem)) {
    const auto gather = [=](Writer& writer, const Ref& vectors) {
      writer.node_gather(vectors, whole(Place::input), problem.root);
    };
    return with_vectors(problem.size, gather, problem.rank == problem.root);
  }
  return one_stage(local_stage([=, along = tree_along_domains(problem, parameters)](Writer& writer) {
    writer.node_reduce(whole(Place::output), whole(Place::input), problem.root, along);
  }));
}
Program fused_allreduce(const Problem& problem, const Parameters& parameters) {
  if (needs_vectors(problem)) {
    const auto allgather = [](Writer& writer, const Ref& vectors) {
      writer.node_allgather(vectors, whole(Place::input));
    };
    return with_vectors(problem.size, allgather, true);
  }
  return one_stage(local_stage([along = tree_along_domains(problem, parameters)](Writer& writer) {
    writer.node_allreduce(whole(Place::output), whole(Place::input), along);
  }));
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

// Of a block, where a rank has so many.
int most_lines(int blocks) {
  return shm::Slice::most_block_lines({}, blocks);
}

Descriptor::Build short_blocks(Operation operation) {
  switch (operation) {
    case Operation::gatherv:
      return fused_gather;
    case Operation::scatterv:
      return fused_scatter;
    case Operation::allgatherv:
      return fused_allgather;
    default:
      return fused_alltoall;
  }
}

}  // namespace

Descriptor fused_blocks(Operation operation, std::string sentence, Descriptor::Build build) {
  const bool is_alltoall = is_uneven_alltoall(operation);
  return {.name = "fused",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A1, A2, table 2.2",
          .legality = {.needs_one_node = true,
                       .needs_shared_memory = true,
                       .waits_inside = true,
                       .max_ranks = is_alltoall ? most_lines(2) : 0},
          .parameters = {lines_parameter()},
          .build = std::move(build),
          .engine = Engine::fused,
          .is_for_leaders = false,
          .build_short = short_blocks(operation),
          .block_lines = [=](int ranks, const Parameters& parameters) {
            const auto wanted = static_cast<int>(parameters.get("lines"));
            return std::min(wanted, most_lines(is_alltoall ? ranks : 1));
          }};
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
                       .is_asked_again = true,
                       .keeps_one_order = is_reduction(operation),
                       .max_bytes = fused_max_bytes},
          .parameters = {},
          .build = build,
          .engine = Engine::fused};
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
