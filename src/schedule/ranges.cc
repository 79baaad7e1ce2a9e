// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/ranges.h"

namespace unisono::schedule {

std::int64_t first_block(const Problem& problem, Place place) {
  const bool is_input = place == Place::input;
  switch (problem.operation) {
    case Operation::allgatherv:
    case Operation::gatherv:
      return is_input ? problem.rank : 0;
    case Operation::reduce_scatter:
    case Operation::scatterv:
      return is_input ? 0 : problem.rank;
    case Operation::alltoallv:
    case Operation::alltoallw:
      return is_input ? 0 : problem.size;
    default:
      return 0;
  }
}

Ref in_place(const Problem& problem, const Ref& ref) {
  if (!problem.is_in_place) return ref;
  switch (problem.operation) {
    case Operation::allreduce:
    case Operation::reduce:
    case Operation::scan:
    case Operation::exscan:
      return ref.place == Place::input ? ref.in(Place::output) : ref;
    case Operation::gather:
    case Operation::allgather:
      if (ref.place != Place::input) return ref;
      return ref.in(Place::output).shifted(problem.blocks.first(problem.rank));
    case Operation::scatter:
      if (ref.place != Place::output) return ref;
      return ref.in(Place::input).shifted(problem.blocks.first(problem.rank));
    // Uneven blocks keep their numbers.
    case Operation::allgatherv:
    case Operation::gatherv:
      return ref.place == Place::input ? ref.in(Place::output) : ref;
    case Operation::scatterv:
      return ref.place == Place::output ? ref.in(Place::input) : ref;
    case Operation::barrier:
    case Operation::bcast:
    case Operation::alltoall:
    case Operation::alltoallv:
    case Operation::alltoallw:
    case Operation::reduce_scatter:
    case Operation::reduce_scatter_block:
      return ref;
  }
  return ref;
}

bool is_needless_copy(const Problem& problem, const Step& step) {
  if (step.kind != StepKind::copy) return false;
  const bool is_scatter = problem.operation == Operation::scatter || problem.operation == Operation::scatterv;
  const bool is_own_block = problem.is_in_place && is_scatter && step.into.place == Place::input;
  return is_own_block || step.into == step.left;
}

}  // namespace unisono::schedule
