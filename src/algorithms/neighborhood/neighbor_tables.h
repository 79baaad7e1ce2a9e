// SPDX-License-Identifier: BSD-3-Clause
// What algorithms for neighbours share: the tables of their blocks, and the order of messages.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "patterns/neighborhood.h"
#include "schedule/block_table.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// Makes a table, block by block.
class BlockNumbers {
 public:
  explicit BlockNumbers(const schedule::Problem& problem);

  // The next number, for the rank's own block `index` of those that it sends or gets, or a piece of it.
  std::int64_t add_input(int index, schedule::Kept kept, int piece = 0);
  std::int64_t add_output(int index, schedule::Kept kept, int piece = 0);
  // The next number, for block `index` of those that a rank of this node sends or gets.
  std::int64_t add_sent(int rank, int index, schedule::Kept kept);
  std::int64_t add_received(int rank, int index, schedule::Kept kept);
  std::int64_t next() const { return std::ssize(table_.blocks); }

  // How many blocks a rank sends, all the same to every neighbour or one for each.
  int sent_blocks(int rank) const;
  // The block that goes to neighbour `index`.
  int block_for(int index) const { return has_one_block_ ? 0 : index; }
  bool has_one_block() const { return has_one_block_; }
  const patterns::Neighbors& own() const { return problem_.neighborhood->of(problem_.rank); }
  schedule::BlockTable& table() { return table_; }
  std::shared_ptr<const schedule::BlockTable> take() {
    return std::make_shared<const schedule::BlockTable>(std::move(table_));
  }

 private:
  std::int64_t add(std::int32_t told, schedule::Kept kept, std::int32_t index);
  int local(int rank) const { return problem_.layout->local_rank_of[static_cast<std::size_t>(rank)]; }

  const schedule::Problem& problem_;
  bool has_one_block_;
  schedule::BlockTable table_;
};

// A message for each edge to and from another rank, and a copy for each from a rank to itself. `input` and
// `output`: what stands for the block of neighbour number `neighbor`.
struct EdgeBlocks {
  std::function<schedule::Ref(int neighbor)> input, output;
};
void write_messages(const schedule::Problem& problem, const EdgeBlocks& blocks, schedule::Writer& writer);
void write_copies(const schedule::Problem& problem, const EdgeBlocks& blocks, schedule::Writer& writer);

// The block of neighbour `from` on this node that comes along its edge number `edge` to this rank: its index
// among those that `from` sends.
int sent_index(const schedule::Problem& problem, const patterns::Neighbor& from);

// Indices of neighbours, without those that are none: from the next rank on around the circle, edges between
// two ranks in one order at both ends.
std::vector<int> in_sending_order(const schedule::Problem& problem);
std::vector<int> in_receiving_order(const schedule::Problem& problem);

}  // namespace unisono::algorithms
