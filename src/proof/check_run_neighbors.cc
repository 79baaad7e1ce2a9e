// SPDX-License-Identifier: BSD-3-Clause
// What a call of neighbours must end with: each block that the other end of its edge has sent, by MPI's rules
// for the order of neighbours. A block that nobody sends stays as it was.
#include <algorithm>

#include "proof/check_run.h"

namespace unisono::proof {

void CheckRun::check_neighbors_result(int rank) {
  const RankState& state = ranks_[rank];
  const CheckedCall& call = plan_.call(state.call);
  const std::vector<std::int64_t>& blocks = plan_.program(state.call, rank).outputs();
  for (int index = 0; index + 1 < std::ssize(blocks); ++index) {
    const CheckedGraph::Source source = call.graph->source(rank, index);
    const bool is_nobody = source.rank == patterns::no_neighbor;
    const std::int32_t value = is_nobody ? -1 : expressions_.leaf(state.call, source.rank);
    const std::int64_t first = is_nobody ? 0 : plan_.program(state.call, source.rank).inputs()[source.block];
    for (std::int64_t at = blocks[index]; at < blocks[index + 1]; ++at) {
      const Cell& cell = state.output[at];
      const std::int64_t element = is_nobody ? cell.element : first + at - blocks[index];
      if (cell.value == value && cell.element == element) continue;
      fail(call.title + ": rank " + std::to_string(rank) + " ends with element " +
           std::to_string(at - blocks[index]) + " of block " + std::to_string(index) + " = element " +
           std::to_string(cell.element) + " of " + expressions_.describe(cell.value) + ", wanted " +
           (is_nobody ? "what was there before, as nobody sends it"
                      : "element " + std::to_string(element) + " of " + expressions_.describe(value)));
      return;
    }
  }
}

}  // namespace unisono::proof
