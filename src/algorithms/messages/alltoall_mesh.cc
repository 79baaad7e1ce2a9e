// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls of tiny blocks by few messages: all data go to everyone, who copies what is its own. S1, section
// 3.1.
#include <array>
#include <string_view>

#include "algorithms/building/allgathers.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;

namespace {

// S1 uses them up to 256 bytes. A rank holds size * size blocks.
constexpr std::int64_t max_block_bytes = 256;
constexpr std::int64_t max_bytes_of_rank = 64 << 10;

// An item is all that a rank sends: as many blocks as there are ranks.
Program by_allgather(const Problem& problem, const Parameters& parameters, const AllgatherFamily& allgather) {
  const int size = problem.size;
  const int rank = problem.rank;
  Composition composition;
  const std::int64_t area = composition.reserve(static_cast<std::int64_t>(size) * size);
  const auto rows = [=](std::int64_t first, std::int64_t last) {
    return blocks(Place::scratch, area + first * size, area + last * size);
  };
  const Items items{[=](int first, int last) { return rows(first, last); }, size, 1,
                    static_cast<std::int64_t>(size) * size};
  composition.add(
      local_stage([=](Writer& writer) { writer.copy(rows(rank, rank + 1), blocks(Place::input, 0, size)); }));
  allgather.add(&composition, problem, parameters, items);
  composition.add(local_stage([=](Writer& writer) {
    for (std::int64_t from = 0; from < size; ++from) {
      writer.copy(block(Place::output, from), block(Place::scratch, area + from * size + rank));
    }
  }));
  return composition.take();
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const std::string_view name : {"mesh_2d", "mesh_3d", "recursive_doubling"}) {
    const AllgatherFamily& allgather = allgather_family(name);
    Legality legality = allgather.legality;
    legality.max_bytes = max_block_bytes;
    legality.max_total_bytes = max_bytes_of_rank;
    all.push_back({.name = allgather.name,
                   .operation = Operation::alltoall,
                   .group = allgather.group,
                   .sentence = "Everyone gets all data and takes its own: " + allgather.sentence,
                   .source = "S1, section 3.1",
                   .legality = legality,
                   .parameters = allgather.parameters,
                   .build =
                       [&allgather](const Problem& problem, const Parameters& parameters) {
                         return by_allgather(problem, parameters, allgather);
                       },
                   .is_for_leaders = false});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
