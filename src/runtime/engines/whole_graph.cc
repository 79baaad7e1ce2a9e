// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/whole_graph.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "schedule/executor.h"

namespace unisono::runtime {
namespace {

// What somebody asks for by name may cost more than what is done on suspicion.
constexpr std::uint64_t most_edges_asked_for = std::uint64_t{1} << 23, most_edges = std::uint64_t{1} << 19;

std::shared_ptr<const schedule::Compiled> compiled(const Communicator& c, Operation operation) {
  const schedule::Problem problem{.operation = operation,
                                  .size = c.size,
                                  .rank = c.rank,
                                  .is_in_place = true,
                                  .layout = c.layout,
                                  .blocks = {}};
  const algorithms::Descriptor& algorithm = *algorithms::find(operation, "bruck");
  return schedule::compile(problem, algorithm.build(problem, with_standards(algorithm)));
}

bool is_asked_for(std::string_view forced) {
  return std::ranges::any_of(algorithms::registry(), [&](const algorithms::Descriptor& algorithm) {
    return algorithm.legality.needs_whole_graph && forced.find(algorithm.name) != std::string_view::npos;
  });
}

}  // namespace

// Where nodes have many ranks, bundles leave nothing to win.
bool is_told_to_all(const Communicator& c, const Options& options, std::uint64_t edges) {
  if (c.layout->nodes() == 1) return false;
  if (is_asked_for(options.algorithm)) return edges <= most_edges_asked_for;
  constexpr std::size_t few_ranks = 4;
  constexpr int many_nodes = 8;
  const bool has_few =
      std::ranges::all_of(c.layout->ranks_of, [](const auto& ranks) { return ranks.size() <= few_ranks; });
  return has_few && c.layout->nodes() >= many_nodes && edges <= most_edges;
}

bool tell_to_all(Communicator& c, const Schedules& schedules, patterns::Neighborhood* known) {
  const auto size = static_cast<std::size_t>(c.size), rank = static_cast<std::size_t>(c.rank);
  std::vector<std::int64_t> own;
  for (const patterns::Neighbor& to : known->of(c.rank).out) {
    if (to.rank != patterns::no_neighbor) own.push_back(to.rank);
  }
  std::vector<std::int64_t> counts(size, 0);
  counts[rank] = std::ssize(own);
  const schedule::Data told{.output = counts.data(), .elements = 1, .element_bytes = sizeof counts[0]};
  if (schedules.execute(c, *compiled(c, Operation::allgather), told) != host::success) return false;
  std::vector<std::int64_t> starts(size + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(starts.back()));
  std::ranges::copy(own, all.begin() + starts[rank]);
  schedule::Data lists{.output = all.data(),
                       .elements = std::ranges::max(counts),
                       .element_bytes = sizeof all[0],
                       .lengths = {starts.data(), std::ssize(counts)},
                       .most = starts.back()};
  if (schedules.execute(c, *compiled(c, Operation::allgatherv), lists) != host::success) return false;
  for (int other = 0; other < c.size; ++other) {
    if (known->knows(other)) continue;
    const auto first = all.begin() + starts[static_cast<std::size_t>(other)];
    known->set(other,
               patterns::graph_neighbors({}, {first, first + counts[static_cast<std::size_t>(other)]}));
  }
  return true;
}

}  // namespace unisono::runtime
