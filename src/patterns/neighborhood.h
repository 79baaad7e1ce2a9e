// SPDX-License-Identifier: BSD-3-Clause
// Who sends to whom in collectives of neighbours: MPI's rules for the order of blocks, and which blocks go
// from one node to another. Pure arithmetic on lists that the caller has. MPI 4.1, chapter 8.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "patterns/layout.h"

namespace unisono::patterns {

// MPI_PROC_NULL among neighbours: it keeps its place in the lists, and nothing moves.
inline constexpr int no_neighbor = -1;

// One end of an edge. Several edges may lead from one rank to another: `edge` tells them apart, and is the
// same at both ends of each.
struct Neighbor {
  int rank = no_neighbor;
  int edge = 0;
  bool operator==(const Neighbor&) const = default;
};

// A rank's neighbours in MPI's order: block i of what it gets comes from in[i], block i of what it sends goes
// to out[i].
struct Neighbors {
  std::vector<Neighbor> in, out;
};

// On a graph: the k-th edge from one rank to another is the k-th in the lists of both.
Neighbors graph_neighbors(const std::vector<int>& sources, const std::vector<int>& destinations);
// On a Cartesian topology: of each dimension the neighbour at the lower and at the higher coordinate. What is
// sent downwards comes from above, also where both neighbours are the same process. `ranks`: two for each
// dimension.
Neighbors cartesian_neighbors(const std::vector<int>& ranks);

// The neighbours of some ranks of a communicator: of one's own node while a program runs, of all in the
// checker and the model.
class Neighborhood {
 public:
  explicit Neighborhood(int size) : of_(static_cast<std::size_t>(size)), is_known_(of_.size(), false) {}

  int size() const { return static_cast<int>(of_.size()); }
  void set(int rank, Neighbors neighbors);
  bool knows(int rank) const { return is_known_[static_cast<std::size_t>(rank)]; }
  bool is_whole() const { return known_ == size(); }
  // Throws std::logic_error for a rank that nothing is known of: an algorithm must not ask.
  const Neighbors& of(int rank) const;

  // What all ranks' numbers add up to is 0, modulo 2^64, where they describe one graph. Where an edge is
  // known at one of its ends alone, it is not, but for one case in 2^64.
  std::uint64_t checksum(int rank) const;

 private:
  std::vector<Neighbors> of_;
  std::vector<bool> is_known_;
  int known_ = 0;
};

// What each node knows of a graph: the neighbours of its own ranks.
std::vector<std::shared_ptr<const Neighborhood>> known_on_nodes(const Neighborhood& graph,
                                                                const Layout& layout);

// A block that goes to another node: of one edge, or what `source` gives all its neighbours there
// (destination no_neighbor). Rank `owner`, of the node that asks, has it as block `index` of those that it
// sends (bundles sent) or gets (bundles received).
struct BlockOnWay {
  int source = 0;
  int destination = no_neighbor;
  int edge = 0;
  int owner = 0;
  int index = 0;
};
// All blocks from one node to another, in an order that both know, and the ranks that send and receive them.
struct Bundle {
  int from_node = 0, to_node = 0;
  int sender = 0, receiver = 0;
  std::vector<BlockOnWay> blocks;
};
struct NodeBundles {
  // From the next node on, each around the circle of nodes: not all begin with the same one.
  std::vector<Bundle> sent, received;
};
// Of one node, whose ranks' neighbours are all that it takes. `has_one_block`: a rank sends all neighbours
// the same block, which goes once to each node. Throws std::logic_error as Neighborhood::of.
NodeBundles node_bundles(const Neighborhood& neighborhood, const Layout& layout, int node,
                         bool has_one_block);

}  // namespace unisono::patterns
