// SPDX-License-Identifier: BSD-3-Clause
// Ranks as points of a virtual mesh. Short blocks go along one dimension after the other, all that go one way
// in one message: nobody sends to more than the length of each dimension. C8, S7.
#include <algorithm>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/neighborhood/relayed.h"
#include "patterns/graphs.h"

namespace unisono::algorithms {
namespace {

using patterns::Hop;
using patterns::VirtualMesh;
using schedule::Problem;
using schedule::Program;

// The most even lengths, or larger ones where the number has no factors that are near each other.
VirtualMesh mesh_of(int ranks, int dimensions) {
  std::int64_t twos = 1;
  for (int i = 0; i < dimensions && twos < ranks; ++i) twos *= 2;
  if (twos >= ranks) return VirtualMesh::of_twos(ranks);
  std::vector<int> lengths = patterns::even_extents(ranks, dimensions);
  if (lengths.front() <= 2 * lengths.back()) return {lengths, ranks};
  int length = 1;
  const auto places = [&] {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= length;
    return product;
  };
  while (places() < ranks) ++length;
  return {std::vector<int>(static_cast<std::size_t>(dimensions), length), ranks};
}

// Those that this rank has a part in, each block once however many want it.
Hops hops_of(const Problem& problem, const VirtualMesh& mesh) {
  Hops hops(static_cast<std::size_t>(mesh.dimensions()));
  for (int source = 0; source < problem.size; ++source) {
    for (const patterns::Neighbor& to : problem.neighborhood->of(source).out) {
      if (to.rank == patterns::no_neighbor) continue;
      int from = source;
      for (int phase = 0; phase < mesh.dimensions(); ++phase) {
        const int next = mesh.point_of(source, to.rank, phase + 1);
        if (from != next && (from == problem.rank || next == problem.rank))
          hops[static_cast<std::size_t>(phase)].push_back({from, next, source});
        from = next;
      }
    }
  }
  for (std::vector<Hop>& of_phase : hops) {
    std::ranges::sort(of_phase);
    const auto rest = std::ranges::unique(of_phase);
    of_phase.erase(rest.begin(), rest.end());
  }
  return hops;
}

Program build(const Problem& problem, const Parameters& parameters) {
  const VirtualMesh mesh = mesh_of(problem.size, static_cast<int>(parameters.get("dimensions")));
  return relayed(problem, hops_of(problem, mesh), parameters.get("cell"), false);
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_allgatherv}) {
    all.push_back(
        {.name = "mesh",
         .operation = operation,
         .group = "relayed",
         .sentence =
             "Short blocks go along one dimension of a virtual mesh of ranks after the other, several in "
             "one message; longer ones go straight.",
         .source = "C8; S7",
         .legality = {.needs_whole_graph = true},
         .parameters =
             {{"dimensions", "", 1, 16, 2,
               "of the mesh; as many as the ranks take: all of length 2, so that each phase halves the "
               "distance"},
              {"cell", "bytes", 0, 64 << 10, 64,
               "longest block that goes over the mesh, and room for each where its length is not known"}},
         .build = build});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
