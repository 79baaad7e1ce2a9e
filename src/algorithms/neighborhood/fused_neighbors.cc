// SPDX-License-Identifier: BSD-3-Clause
// Neighbours on one node without a schedule: data and flag travel in one cache line, and long blocks through
// rings. C4; A1, A2.
#include <algorithm>
#include <limits>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/neighborhood/shared_neighbors.h"
#include "shm/slice/slice.h"

namespace unisono::algorithms {
namespace {

// Calls that do not block, the checker and the model have the slots instead.
schedule::Program as_slots(const schedule::Problem& problem, const Parameters&) {
  return shared_neighbors(problem, std::numeric_limits<std::int64_t>::max(), 2);
}

int lines_of_link(int links, const Parameters& parameters) {
  return std::min(static_cast<int>(parameters.get("lines")),
                  shm::Slice::most_block_lines({}, std::max(links, 1)));
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : neighborhood_operations) {
    all.push_back({.name = "fused",
                   .operation = operation,
                   .group = "shared",
                   .sentence =
                       "What a rank has for another one travels in cache lines that carry data and flag, "
                       "longer blocks in a stream, if there is room for streams.",
                   .source = "C4; A1, A2, table 2.2",
                   .legality = {.needs_one_node = true, .needs_shared_memory = true, .waits_inside = true},
                   .parameters = {lines_parameter()},
                   .build = as_slots,
                   .engine = Engine::fused,
                   .is_for_leaders = false,
                   .block_lines = lines_of_link});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
