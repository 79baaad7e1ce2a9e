// SPDX-License-Identifier: BSD-3-Clause
// Reductions through shared memory: each piece has a part for every rank, and who owns a part joins it. The
// own part of the own operand stays private: it is never written to shared memory, which nearly doubles the
// speed.
#include "algorithms/building/compose.h"
#include "algorithms/building/order.h"
#include "algorithms/shared_memory/along_domains.h"
#include "algorithms/shared_memory/shared.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

namespace {

constexpr int written = 1;  // ticks: the operand is in the slot
constexpr int joined = 2;   // the own part is joined, in the own slot

void put_others_parts(const Problem& problem, Writer& writer) {
  const Ref operand = whole(Place::input);
  const auto put = [&](int first, int last) {
    Ref run = operand;
    run.sub_first = first;
    run.sub_last = last;
    run.sub_parts = problem.size;
    if (first < last) writer.copy(run.in_slot_of(problem.rank), run);
  };
  writer.await_space();
  put(0, problem.rank);
  put(problem.rank + 1, problem.size);
  writer.signal(written);
}

// Joins the own part in the order of the ranks, from the left unless one order is asked for. The last step
// writes to `result`, all others to the own slot: in place, the operand must stay until its turn.
void join_own_part(const Problem& problem, const Ref& result, Writer& writer) {
  const auto operand_of = [&](int rank) {
    const Ref operand = whole(Place::input).sub(problem.rank, problem.size);
    return rank == problem.rank ? operand : operand.in_slot_of(rank);
  };
  const Ref slot = whole(Place::input).sub(problem.rank, problem.size).in_slot_of(problem.rank);
  writer.await_all(written);
  if (problem.is_reproducible) {
    const Ref partial = whole(Place::scratch).sub(problem.rank, problem.size);
    join_in_order(writer, problem.size, result, operand_of, [&](int i) { return partial.shifted(i); });
    return;
  }
  for (int rank = 1; rank < problem.size; ++rank) {
    const bool is_last = rank == problem.size - 1;
    writer.reduce(is_last ? result : slot, rank == 1 ? operand_of(0) : slot, operand_of(rank));
  }
}

void get_part_of(int rank, const Problem& problem, Writer& writer) {
  const Ref theirs = whole(Place::output).sub(rank, problem.size);
  writer.await(rank, joined);
  writer.copy(theirs, theirs.in_slot_of(rank));
}

std::int64_t partial_results(const Problem& problem) {
  return problem.is_reproducible ? temporaries_of_order(problem.size) : 0;
}

}  // namespace

Program shared_reduce(const Problem& problem, const Parameters& parameters) {
  if (goes_along_domains(problem, parameters)) return reduce_along_domains(problem, parameters);
  Stage stage = channel_stage(parameters, SharedMode::own, joined, [=](Writer& writer) {
    const Ref part = whole(Place::output).sub(problem.rank, problem.size);
    const bool is_root = problem.rank == problem.root;
    put_others_parts(problem, writer);
    join_own_part(problem, is_root ? part : part.in_slot_of(problem.rank), writer);
    for (int distance = 1; is_root && distance < problem.size; ++distance) {
      get_part_of(wrap(problem.rank + distance, problem.size), problem, writer);
    }
  });
  return one_stage(std::move(stage), partial_results(problem));
}

// The own result goes to the output first: what is put into a slot may pass the caches, and would have to be
// fetched again.
Program shared_allreduce(const Problem& problem, const Parameters& parameters) {
  if (goes_along_domains(problem, parameters)) return allreduce_along_domains(problem, parameters);
  Stage stage = channel_stage(parameters, SharedMode::own, joined + 1, [=](Writer& writer) {
    const Ref part = whole(Place::output).sub(problem.rank, problem.size);
    put_others_parts(problem, writer);
    join_own_part(problem, part, writer);
    writer.copy(part.in_slot_of(problem.rank), part);
    writer.signal(joined);
    for (int distance = 1; distance < problem.size; ++distance) {
      get_part_of(wrap(problem.rank + distance, problem.size), problem, writer);
    }
  });
  return one_stage(std::move(stage), partial_results(problem));
}

}  // namespace unisono::algorithms
