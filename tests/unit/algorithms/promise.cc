// SPDX-License-Identifier: BSD-3-Clause
#include "promise.h"

#include <algorithm>
#include <bit>

#include "interpreted_rank.h"
#include "proof/check_load.h"

namespace unisono::algorithms::testing {

Value joined(const Value& left, const Value& right, bool is_commutative) {
  if (left.id < 0 || left.id != right.id) throw Fault("joins different elements");
  if ((left.ranks & right.ranks) != 0) throw Fault("joins an operand twice");
  const int highest_left = 63 - std::countl_zero(left.ranks);
  const int lowest_right = std::countr_zero(right.ranks);
  if (!is_commutative && highest_left + 1 != lowest_right) throw Fault("joins out of order");
  return {left.id, left.ranks | right.ranks};
}

Promise::Promise(const Case& tested) : case_(tested), size_(tested.layout.size()) {}

bool Promise::is_in_place(int rank) const {
  return case_.is_in_place && (!is_rooted(operation()) || rank == case_.root);
}

std::pair<int, int> Promise::units(int rank) const {
  switch (operation()) {
    case Operation::barrier:
      return {0, 0};
    case Operation::bcast:
      return {0, 1};
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
      return {1, 1};
    case Operation::gather:
    case Operation::allgather:
      return {1, size_};
    case Operation::reduce_scatter_block:
      return {size_, 1};
    case Operation::scatter:
      return {rank == case_.root ? size_ : 0, 1};
    case Operation::alltoall:
      return {size_, size_};
    default:
      return {0, 0};  // uneven blocks
  }
}

Value Promise::contribution(int rank, std::int64_t unit, std::int64_t element) const {
  const std::int64_t n = case_.elements;
  if (is_reduction(operation())) return {unit * n + element, std::uint64_t{1} << rank};
  if (operation() == Operation::alltoall) return {(rank * size_ + unit) * n + element, 1};
  if (operation() == Operation::scatter) return {unit * n + element, 1};
  return {rank * n + element, 1};
}

void Promise::append_block(Values* values, int from, int to) const {
  constexpr std::int64_t longest = 1 << 20;
  const schedule::Problem problem{.operation = operation(), .size = size_};
  const bool is_gather = operation() == Operation::allgatherv || operation() == Operation::gatherv;
  const std::int64_t length = proof::block_length(problem, case_.elements, case_.pattern, from, to);
  const std::int64_t first = ((is_gather ? 0 : to) * size_ + from) * longest;
  for (std::int64_t e = 0; e < length; ++e) values->push_back({first + e, 1});
}

std::pair<Values, Values> Promise::blocks_before(int rank) const {
  const schedule::Problem problem{
      .operation = operation(), .size = size_, .rank = rank, .root = case_.root, .layout = {}, .blocks = {}};
  const auto starts = proof::block_starts(problem, case_.elements, case_.pattern);
  Values input;
  Values output(proof::block_extent(problem, starts, schedule::Place::output));
  switch (operation()) {
    case Operation::reduce_scatter:
      for (std::int64_t e = 0; e < starts.back(); ++e) input.push_back({e, std::uint64_t{1} << rank});
      return {input, output};
    case Operation::scatterv:
      for (int to = 0; rank == case_.root && to < size_; ++to) append_block(&input, rank, to);
      return {input, is_in_place(rank) ? Values{} : output};
    case Operation::alltoallv:
    case Operation::alltoallw:
      for (int to = 0; to < size_; ++to) append_block(&input, rank, to);
      return {input, output};
    default:
      append_block(&input, rank, 0);
      if (!is_in_place(rank)) return {input, output};
      std::ranges::copy(input, output.begin() + starts[rank]);
      return {{}, output};
  }
}

std::optional<Values> Promise::blocks_after(int rank) const {
  Values output;
  switch (operation()) {
    case Operation::reduce_scatter: {
      const schedule::Problem problem{.operation = operation(), .size = size_};
      const auto starts = proof::block_starts(problem, case_.elements, case_.pattern);
      for (std::int64_t e = starts[rank]; e < starts[rank + 1]; ++e) {
        output.push_back({e, ~std::uint64_t{0} >> (64 - size_)});
      }
      break;
    }
    case Operation::scatterv:
      if (is_in_place(rank)) return std::nullopt;
      append_block(&output, case_.root, rank);
      break;
    case Operation::gatherv:
      if (rank != case_.root) return std::nullopt;
      [[fallthrough]];
    default:
      for (int from = 0; from < size_; ++from) append_block(&output, from, rank);
  }
  return output;
}

void Promise::append_sent(Values* values, int rank, int block) const {
  constexpr std::int64_t most_blocks = 1 << 10, longest = 1 << 20;
  const std::int64_t first = (rank * most_blocks + block) * longest;
  const std::int64_t length = case_.graph->sent(rank, block, case_.elements, case_.pattern);
  for (std::int64_t e = 0; e < length; ++e) values->push_back({first + e, 1});
}

std::pair<Values, Values> Promise::neighbors_before(int rank) const {
  Values input;
  for (int block = 0; block < case_.graph->sent_blocks(rank); ++block) append_sent(&input, rank, block);
  std::int64_t length = 0;
  for (int i = 0; i < case_.graph->received_blocks(rank); ++i)
    length += case_.graph->received(rank, i, case_.elements, case_.pattern);
  return {input, Values(length)};
}

// MPI 4.1, section 8.6: the k-th block from a rank is the k-th that it sends here.
Values Promise::neighbors_after(int rank) const {
  const patterns::Neighborhood& graph = case_.graph->all();
  Values output;
  const std::vector<patterns::Neighbor>& in = graph.of(rank).in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t length =
        case_.graph->received(rank, static_cast<int>(i), case_.elements, case_.pattern);
    if (in[i].rank == patterns::no_neighbor) {
      output.resize(output.size() + static_cast<std::size_t>(length));
      continue;
    }
    const std::vector<patterns::Neighbor>& out = graph.of(in[i].rank).out;
    const auto sent = std::ranges::find(out, patterns::Neighbor{rank, in[i].edge});
    append_sent(&output, in[i].rank,
                sends_neighbor_blocks(operation()) ? static_cast<int>(sent - out.begin()) : 0);
  }
  return output;
}

std::int64_t Promise::block_of_neighbor(int rank, const schedule::NumberedBlock& block,
                                        const schedule::BlockLimits& limits) const {
  const auto length = [&](int i) {
    return block.is_output ? case_.graph->received(rank, i, case_.elements, case_.pattern)
                           : case_.graph->sent(rank, i, case_.elements, case_.pattern);
  };
  std::int64_t first = range_in_block(block, limits, length(block.index), element_bytes).first;
  for (int i = 0; i < block.index; ++i) first += length(i);
  return first;
}

std::pair<Values, Values> Promise::before(int rank) const {
  if (is_neighborhood(operation())) return neighbors_before(rank);
  if (has_uneven_blocks(operation())) return blocks_before(rank);
  const std::int64_t n = case_.elements;
  const auto [input_units, output_units] = units(rank);
  Values own;
  for (int unit = 0; unit < input_units; ++unit) {
    for (std::int64_t e = 0; e < n; ++e) own.push_back(contribution(rank, unit, e));
  }
  Values output(output_units * n);
  if (operation() == Operation::bcast && rank == case_.root) {
    for (std::int64_t e = 0; e < n; ++e) output[e] = {e, 1};
  }
  if (!is_in_place(rank)) return {own, output};
  if (operation() == Operation::scatter) return {own, {}};
  const bool has_own_block = operation() == Operation::gather || operation() == Operation::allgather;
  std::ranges::copy(own, output.begin() + (has_own_block ? rank * n : 0));
  return {{}, output};
}

Value Promise::result(int rank, std::int64_t at) const {
  const std::int64_t n = case_.elements;
  if (is_reduction(operation())) {
    const int joined = is_scan(operation()) ? rank + (operation() == Operation::scan ? 1 : 0) : size_;
    return {at + (operation() == Operation::reduce_scatter_block ? rank * n : 0),
            ~std::uint64_t{0} >> (64 - joined)};
  }
  if (operation() == Operation::scatter) return {rank * n + at, 1};
  if (operation() == Operation::alltoall) return {(at / n * size_ + rank) * n + at % n, 1};
  return {at, 1};
}

std::optional<Values> Promise::after(int rank) const {
  if (is_neighborhood(operation())) return neighbors_after(rank);
  if (has_uneven_blocks(operation())) return blocks_after(rank);
  const bool is_at_root_only = operation() == Operation::reduce || operation() == Operation::gather;
  if (is_at_root_only && rank != case_.root) return std::nullopt;
  if (operation() == Operation::scatter && is_in_place(rank)) return std::nullopt;
  if (operation() == Operation::exscan && rank == 0) return before(rank).second;
  Values output;
  for (std::int64_t at = 0; at < units(rank).second * case_.elements; ++at)
    output.push_back(result(rank, at));
  return output;
}

}  // namespace unisono::algorithms::testing
