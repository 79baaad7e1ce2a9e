// SPDX-License-Identifier: BSD-3-Clause
// What a way to move blocks between neighbours costs, in numbers: messages, blocks on the way, copies.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "patterns/groups.h"
#include "patterns/layout.h"
#include "patterns/neighborhood.h"
#include "patterns/routes.h"

namespace unisono::patterns {

// Messages that need not wait for each other, and what comes before them: always the most that one rank, or
// one node, has.
struct Phase {
  int barriers = 0;         // of each node's ranks
  std::int64_t copies = 0;  // of runs of blocks that are neighbours in memory
  std::int64_t blocks_copied = 0;
  std::int64_t messages = 0;        // sent and received by a rank
  std::int64_t blocks_inside = 0;   // sent and received by a rank, inside its node
  std::int64_t blocks_between = 0;  // into or out of a node, whichever is more
};

class Traffic {
 public:
  // The picture of messages between nodes has at most `most_cells` rows: of many nodes several share one.
  explicit Traffic(const Layout& layout, int most_cells = 64);

  void begin_phase(int barriers = 0);
  void send(int from, int to, std::int64_t blocks);
  // In so many runs; by default each block by itself.
  void copy(int rank, std::int64_t blocks) { copy(rank, blocks, blocks); }
  void copy(int rank, std::int64_t blocks, std::int64_t runs);
  // No more follows.
  void finish() { end_phase(); }

  const std::vector<Phase>& phases() const { return phases_; }
  // Of each rank; to other nodes.
  const std::vector<std::int64_t>& sent() const { return sent_; }
  const std::vector<std::int64_t>& sent_away() const { return sent_away_; }
  // From other nodes, of each node.
  const std::vector<std::int64_t>& blocks_into() const { return blocks_into_; }
  std::int64_t blocks() const { return blocks_; }
  int cells() const { return cells_; }
  int cell_of(int node) const;
  // Messages from nodes of one row to other nodes, of one column.
  const std::vector<std::int64_t>& matrix() const { return matrix_; }

 private:
  void end_phase();

  const Layout& layout_;
  int cells_;
  bool is_open_ = false;
  Phase phase_;
  std::vector<Phase> phases_;
  std::vector<std::int64_t> messages_now_, copies_now_, blocks_copied_now_, inside_now_;  // of each rank
  std::vector<std::int64_t> into_now_, out_of_now_;                                       // of each node
  std::vector<std::int64_t> sent_, sent_away_, blocks_into_, matrix_;
  std::int64_t blocks_ = 0;
};

// A message for each edge.
Traffic linear_traffic(const Neighborhood& neighborhood, const Layout& layout);
// A message for each pair of nodes (node_bundles). `progress`: how much is done, from 0 to 1.
Traffic bundle_traffic(const Neighborhood& neighborhood, const Layout& layout, bool has_one_block,
                       const std::function<void(double)>& progress = nullptr);
// Each block by itself once to each node that has a destination of it, to one of those.
Traffic once_traffic(const Destinations& destinations, const Neighborhood& neighborhood,
                     const Layout& layout);
// The messages of algorithm 7.4, or of cumulative pairs.
Traffic group_traffic(const Grouping& grouping, const Destinations& destinations, const Layout& layout,
                      Combining combining);
// Along the dimensions of a mesh of nodes, whose ranks share the messages, or of ranks.
Traffic mesh_traffic(const Destinations& destinations, const Neighborhood& neighborhood, const Layout& layout,
                     const VirtualMesh& mesh, MeshOf of);

}  // namespace unisono::patterns
