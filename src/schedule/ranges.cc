// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/ranges.h"

namespace unisono::schedule {

std::int64_t first_block(const Problem& problem, Place place) {
  const Operation operation = problem.operation;
  if (!has_uneven_blocks(operation) || is_neighborhood(operation)) return 0;
  const bool is_input = place == Place::input;
  if (is_input ? sends_own_block(operation) : gets_own_block(operation)) return problem.rank;
  return is_alltoall(operation) && !is_input ? problem.size : 0;
}

Ref in_place(const Problem& problem, const Ref& ref) {
  const Operation operation = problem.operation;
  if (!problem.is_in_place || !moves_data(operation) || has_one_buffer(operation) ||
      copies_in_place(operation))
    return ref;
  const Place left_out = is_scatter(operation) ? Place::output : Place::input;
  if (ref.place != left_out) return ref;
  const Ref moved = ref.in(left_out == Place::input ? Place::output : Place::input);
  // Uneven blocks keep their numbers.
  if (!is_block_operation(operation) || has_uneven_blocks(operation)) return moved;
  return moved.shifted(problem.blocks.first(problem.rank));
}

bool is_needless_copy(const Problem& problem, const Step& step) {
  if (step.kind != StepKind::copy) return false;
  const bool is_scattering = is_scatter(problem.operation);
  const bool is_own_block = problem.is_in_place && is_scattering && step.into.place == Place::input;
  return is_own_block || step.into == step.left;
}

}  // namespace unisono::schedule
