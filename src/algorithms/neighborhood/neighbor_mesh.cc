// SPDX-License-Identifier: BSD-3-Clause
// Ranks, or nodes, as points of a virtual mesh. Short blocks go along one dimension after the other, all that
// go one way in one message: nobody sends to more than the length of each dimension. Ranks of a node share
// what goes to and comes from other nodes, and hand each other blocks in between. C8, S7.
#include <algorithm>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/neighborhood/relayed.h"
#include "patterns/graphs.h"
#include "patterns/node_partners.h"

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

// The hops that this rank has a part in, each block once however many want it.
class OwnHops {
 public:
  OwnHops(int rank, int phases) : rank_(rank), hops_(static_cast<std::size_t>(phases)) {}
  void add(int phase, int from, int to, int source) {
    if (from != to && (from == rank_ || to == rank_))
      hops_[static_cast<std::size_t>(phase)].push_back({from, to, source});
  }
  Hops take() {
    for (std::vector<Hop>& of_phase : hops_) {
      std::ranges::sort(of_phase);
      const auto rest = std::ranges::unique(of_phase);
      of_phase.erase(rest.begin(), rest.end());
    }
    return std::move(hops_);
  }

 private:
  int rank_;
  Hops hops_;
};

// From one point of the mesh to the next.
void add_over_ranks(const VirtualMesh& mesh, int source, int to, OwnHops* hops) {
  int from = source;
  for (int phase = 0; phase < mesh.dimensions(); ++phase) {
    const int next = mesh.point_of(source, to, phase + 1);
    hops->add(phase, from, next, source);
    from = next;
  }
}

// Before each phase between nodes, and behind the last one, there is one inside each node: to who deals with
// the next node, and to who wants the block.
void add_over_nodes(const VirtualMesh& mesh, const patterns::Layout& layout, int source, int to,
                    OwnHops* hops) {
  const auto node_of = [&](int rank) { return layout.node_of[static_cast<std::size_t>(rank)]; };
  int holder = source;
  for (int phase = 0; phase < mesh.dimensions(); ++phase) {
    const int node = node_of(holder), next = mesh.point_of(node_of(source), node_of(to), phase + 1);
    if (next == node) continue;
    const int sender = patterns::rank_for(layout, node, next),
              receiver = patterns::rank_for(layout, next, node);
    hops->add(2 * phase, holder, sender, source);
    hops->add(2 * phase + 1, sender, receiver, source);
    holder = receiver;
  }
  hops->add(2 * mesh.dimensions(), holder, to, source);
}

Hops hops_of(const Problem& problem, int dimensions, bool is_of_nodes) {
  const VirtualMesh mesh = mesh_of(is_of_nodes ? problem.layout->nodes() : problem.size, dimensions);
  OwnHops hops(problem.rank, is_of_nodes ? 2 * mesh.dimensions() + 1 : mesh.dimensions());
  for (int source = 0; source < problem.size; ++source) {
    for (const patterns::Neighbor& to : problem.neighborhood->of(source).out) {
      if (to.rank == patterns::no_neighbor) continue;
      if (is_of_nodes) {
        add_over_nodes(mesh, *problem.layout, source, to.rank, &hops);
      } else {
        add_over_ranks(mesh, source, to.rank, &hops);
      }
    }
  }
  return hops.take();
}

Program build(const Problem& problem, const Parameters& parameters) {
  const Hops hops =
      hops_of(problem, static_cast<int>(parameters.get("dimensions")), parameters.get("of_nodes") != 0);
  return relayed(problem, hops, parameters.get("cell"), false);
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_allgatherv}) {
    all.push_back(
        {.name = "mesh",
         .operation = operation,
         .group = "relayed",
         .sentence =
             "Short blocks go along one dimension of a virtual mesh of ranks, or nodes, after the other, "
             "several in one message; longer ones go straight.",
         .source = "C8; S7",
         .legality = {.needs_whole_graph = true},
         .parameters =
             {{"dimensions", "", 1, 16, 2,
               "of the mesh; as many as the ranks take: all of length 2, so that each phase halves the "
               "distance"},
              {"of_nodes", "", 0, 1, 0,
               "1: a mesh of nodes, whose ranks share the messages between nodes; 0: a mesh of ranks"},
              {"cell", "bytes", 0, 64 << 10, 64,
               "longest block that goes over the mesh, and room for each where its length is not known"}},
         .build = build});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
