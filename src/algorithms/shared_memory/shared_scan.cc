// SPDX-License-Identifier: BSD-3-Clause
// Scans and scattered reductions on one node: through channels, and fused for small messages. A2,
// section 2.4.
#include "algorithms/shared_memory/shared_scan.h"

#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/building/order.h"
#include "algorithms/building/runs.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/shared.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

// From slot to slot: piece by piece, so that all ranks join at once.
Program shared_scan(const Problem& problem, const Parameters& parameters) {
  return one_stage(channel_stage(parameters, SharedMode::own, 1, [=](Writer& writer) {
    const Ref own = whole(Place::input);
    const Ref result = whole(Place::output);
    if (problem.rank == 0) {
      writer.copy(result, own);
    } else {
      writer.await(problem.rank - 1, 1);
      writer.reduce(result, result.in_slot_of(problem.rank - 1), own);
    }
    if (problem.rank + 1 == problem.size) return;
    writer.await_space();
    writer.copy(result.in_slot_of(problem.rank), result);
  }));
}

Program shared_exscan(const Problem& problem, const Parameters& parameters, const Ref& total) {
  constexpr int written = 1;
  constexpr int read = 2;
  return one_stage(channel_stage(parameters, SharedMode::own, read, [=](Writer& writer) {
    const Ref own = whole(Place::input);
    const Ref before = own.in_slot_of(problem.rank - 1);
    const bool is_last = problem.rank + 1 == problem.size;
    if (problem.rank > 0) writer.await(problem.rank - 1, written);
    if (!is_last) {
      const Ref slot = own.in_slot_of(problem.rank);
      writer.await_space();
      if (problem.rank == 0) {
        writer.copy(slot, own);
      } else {
        writer.reduce(slot, before, own);
      }
      writer.signal(written);
    } else if (total.first != total.last) {
      writer.reduce(total, before, own);
    }
    if (problem.rank > 0) writer.copy(whole(Place::output), before);
  }));
}

namespace {

Program exscan(const Problem& problem, const Parameters& parameters) {
  return shared_exscan(problem, parameters, token(Place::scratch));
}

// A rank waits for those before it alone.
Program fused_scan(const Problem&, const Parameters&) {
  return one_stage(
      local_stage([](Writer& writer) { writer.node_scan(whole(Place::output), whole(Place::input)); }));
}
Program fused_exscan(const Problem&, const Parameters&) {
  return one_stage(
      local_stage([](Writer& writer) { writer.node_exscan(whole(Place::output), whole(Place::input)); }));
}

// Everyone writes the other ranks' parts side by side; each joins its own in the order of the ranks.
Program in_lanes(const Problem& problem, const Parameters& parameters) {
  constexpr int written = 1;
  constexpr int read = 2;
  const Runs runs(problem);
  Stage stage = channel_stage(parameters, SharedMode::own, read, [=](Writer& writer) {
    const Ref own = runs.of(Place::input, problem.rank);
    const Ref result = runs.own(Place::output);
    const auto operand_of = [&](int rank) {
      return rank == problem.rank ? own : own.in_slot_of(rank, problem.rank);
    };
    writer.await_space();
    for (int peer = 0; peer < problem.size; ++peer) {
      const Ref theirs = runs.of(Place::input, peer);
      if (peer != problem.rank) writer.copy(theirs.in_slot_of(problem.rank, peer), theirs);
    }
    writer.signal(written);
    if (problem.is_reproducible) {
      writer.await_all(written);
      join_in_order(writer, problem.size, result, operand_of, [&](int i) { return runs.own_area(i); });
      return;
    }
    if (problem.rank != 0) writer.await(0, written);
    for (int rank = 1; rank < problem.size; ++rank) {
      if (rank != problem.rank) writer.await(rank, written);
      writer.reduce(result, rank == 1 ? operand_of(0) : result, operand_of(rank));
    }
  });
  stage.lanes = problem.size;
  return one_stage(std::move(stage),
                   problem.is_reproducible ? runs.scratch(temporaries_of_order(problem.size)) : 0);
}

// For more ranks than a slot has lanes.
Program reduce_then_scatter(const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  Problem step = problem;
  step.root = 0;
  Composition composition;
  const std::int64_t joined = composition.reserve(runs.total());
  composition.add(shared_reduce(step, parameters),
                  {.output = {Place::scratch, joined}, .scale = runs.total()});
  composition.add(shared_scatter(step, parameters), {.input = {Place::scratch, joined}});
  return composition.take();
}

Program shared_reduce_scatter(const Problem& problem, const Parameters& parameters) {
  // The smallest area that a rank may have (16 KiB) has so many lanes of a cache line.
  constexpr int most_lanes = 256;
  if (problem.size > most_lanes) return reduce_then_scatter(problem, parameters);
  Program program = in_lanes(problem, parameters);
  Stage& stage = program.stages.front();
  stage.buffers = std::max(1, std::min(stage.buffers, most_lanes / problem.size));
  return program;
}

Program fused_reduce_scatter(const Problem& problem, const Parameters&) {
  const Runs runs(problem);
  if (problem.is_reproducible) {
    const auto own_of = [=](std::int64_t vector) {
      return runs.of(Place::scratch, problem.rank).shifted(vector * runs.total());
    };
    const int size = problem.size;
    return one_stage(local_stage([=](Writer& writer) {
                       writer.node_allgather(blocks(Place::scratch, 0, size * runs.total()),
                                             runs.all(Place::input));
                       join_in_order(writer, size, runs.own(Place::output), own_of,
                                     [&](int i) { return own_of(size + i); });
                     }),
                     (size + temporaries_of_order(size)) * runs.total());
  }
  return one_stage(local_stage(
      [=](Writer& writer) { writer.node_reduce_scatter(runs.own(Place::output), runs.all(Place::input)); }));
}

Descriptor descriptor(Operation operation, std::string name, std::string sentence,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = std::move(name),
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A2, section 2.4",
          .legality = {.needs_one_node = true, .needs_shared_memory = true, .keeps_one_order = true},
          .parameters = {},
          .build = build};
}

Descriptor through_channel(Descriptor descriptor) {
  descriptor.parameters = {buffers_parameter(), piece_parameter()};
  return descriptor;
}

std::vector<Descriptor> make() {
  const std::string sentence =
      "All write cache lines that carry data and flag; each joins those of the ranks before it.";
  Descriptor fused_inclusive = descriptor(Operation::scan, "fused", sentence, fused_scan);
  Descriptor fused_exclusive = descriptor(Operation::exscan, "fused", sentence, fused_exscan);
  fused_inclusive.engine = fused_exclusive.engine = Engine::fused;
  fused_inclusive.legality.waits_inside = fused_exclusive.legality.waits_inside = true;
  fused_inclusive.legality.is_asked_again = fused_exclusive.legality.is_asked_again = true;
  fused_inclusive.legality.max_bytes = fused_exclusive.legality.max_bytes = fused_max_bytes;
  std::vector<Descriptor> all{
      std::move(fused_inclusive), std::move(fused_exclusive),
      through_channel(descriptor(
          Operation::scan, "shared",
          "Pieces go from rank to rank through shared memory, and each joins its own to them.", shared_scan)),
      through_channel(descriptor(
          Operation::exscan, "shared",
          "Pieces go from rank to rank through shared memory, and each joins its own to them.", exscan))};
  for (const Operation operation : {Operation::reduce_scatter_block, Operation::reduce_scatter}) {
    Descriptor fused =
        descriptor(operation, "fused",
                   "All write cache lines that carry data and flag; each joins all, and keeps its own.",
                   fused_reduce_scatter);
    fused.engine = Engine::fused;
    fused.legality.waits_inside = true;
    fused.legality.is_asked_again = operation == Operation::reduce_scatter_block;
    fused.legality.max_total_bytes = fused_max_bytes;
    all.push_back(std::move(fused));
    all.push_back(through_channel(
        descriptor(operation, "shared", "Everyone writes the others' parts side by side; each joins its own.",
                   shared_reduce_scatter)));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
