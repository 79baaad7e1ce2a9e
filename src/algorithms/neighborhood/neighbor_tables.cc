// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/neighborhood/neighbor_tables.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace unisono::algorithms {

using schedule::Kept;
using schedule::Problem;

BlockNumbers::BlockNumbers(const Problem& problem)
    : problem_(problem), has_one_block_(!sends_neighbor_blocks(problem.operation)) {
  const Operation operation = problem.operation;
  table_.has_equal_outs = has_one_block_ || operation == Operation::neighbor_alltoall;
  table_.has_equal_ins =
      operation == Operation::neighbor_allgather || operation == Operation::neighbor_alltoall;
  int ins = 1;
  table_.outs = 1;
  const int node = problem.layout->node_of[static_cast<std::size_t>(problem.rank)];
  for (const int rank : problem.layout->ranks_of[static_cast<std::size_t>(node)]) {
    const patterns::Neighbors& neighbors = problem.neighborhood->of(rank);
    if (!table_.has_equal_outs) table_.outs = std::max(table_.outs, static_cast<int>(neighbors.out.size()));
    if (!table_.has_equal_ins) ins = std::max(ins, static_cast<int>(neighbors.in.size()));
  }
  table_.told_by_rank = table_.outs + ins;
}

std::int64_t BlockNumbers::add(std::int32_t told, Kept kept, std::int32_t index) {
  table_.blocks.push_back({told, kept, index});
  return std::ssize(table_.blocks) - 1;
}

std::int64_t BlockNumbers::add_input(int index, Kept kept, int piece) {
  const std::int64_t number = add(table_.told_out(local(problem_.rank), index), kept, index);
  table_.blocks.back().piece = static_cast<std::uint8_t>(piece);
  return number;
}
std::int64_t BlockNumbers::add_output(int index, Kept kept, int piece) {
  const std::int64_t number = add(table_.told_in(local(problem_.rank), index), kept, index);
  table_.blocks.back().is_output = true;
  table_.blocks.back().piece = static_cast<std::uint8_t>(piece);
  return number;
}
std::int64_t BlockNumbers::add_sent(int rank, int index, Kept kept) {
  return add(table_.told_out(local(rank), index), kept, -1);
}
std::int64_t BlockNumbers::add_received(int rank, int index, Kept kept) {
  return add(table_.told_in(local(rank), index), kept, -1);
}

int BlockNumbers::sent_blocks(int rank) const {
  return has_one_block_ ? 1 : static_cast<int>(problem_.neighborhood->of(rank).out.size());
}

void write_messages(const Problem& problem, const EdgeBlocks& blocks, schedule::Writer& writer) {
  const patterns::Neighbors& own = problem.neighborhood->of(problem.rank);
  for (const int i : in_receiving_order(problem)) {
    const int from = own.in[static_cast<std::size_t>(i)].rank;
    if (from != problem.rank) writer.recv(blocks.output(i), from);
  }
  for (const int i : in_sending_order(problem)) {
    const int to = own.out[static_cast<std::size_t>(i)].rank;
    if (to != problem.rank) writer.send(blocks.input(i), to);
  }
}

// They come first in both orders.
void write_copies(const Problem& problem, const EdgeBlocks& blocks, schedule::Writer& writer) {
  const patterns::Neighbors& own = problem.neighborhood->of(problem.rank);
  const std::vector<int> outs = in_sending_order(problem), ins = in_receiving_order(problem);
  for (std::size_t k = 0; k < std::min(outs.size(), ins.size()); ++k) {
    if (own.out[static_cast<std::size_t>(outs[k])].rank != problem.rank) break;
    writer.copy(blocks.output(ins[k]), blocks.input(outs[k]));
  }
}

int sent_index(const Problem& problem, const patterns::Neighbor& from) {
  if (!sends_neighbor_blocks(problem.operation)) return 0;
  const std::vector<patterns::Neighbor>& out = problem.neighborhood->of(from.rank).out;
  const auto found = std::ranges::find(out, patterns::Neighbor{problem.rank, from.edge});
  // The set-up finds such graphs before anything runs.
  if (found == out.end()) throw std::logic_error("an edge that is known at one end alone");
  return static_cast<int>(found - out.begin());
}

namespace {

template <class Distance>
std::vector<int> in_order(const std::vector<patterns::Neighbor>& neighbors, Distance distance) {
  std::vector<int> order;
  for (int i = 0; i < std::ssize(neighbors); ++i) {
    if (neighbors[static_cast<std::size_t>(i)].rank != patterns::no_neighbor) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](int i) {
    const patterns::Neighbor& neighbor = neighbors[static_cast<std::size_t>(i)];
    return std::tuple(distance(neighbor.rank), neighbor.edge);
  });
  return order;
}

}  // namespace

std::vector<int> in_sending_order(const Problem& problem) {
  return in_order(problem.neighborhood->of(problem.rank).out,
                  [&](int to) { return (to - problem.rank + problem.size) % problem.size; });
}

std::vector<int> in_receiving_order(const Problem& problem) {
  return in_order(problem.neighborhood->of(problem.rank).in,
                  [&](int from) { return (problem.rank - from + problem.size) % problem.size; });
}

}  // namespace unisono::algorithms
