// SPDX-License-Identifier: BSD-3-Clause
// Collective operations, and what is to be known of each: one table, by which all layers go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace unisono {

// Names are MPI's without the prefix, in lower case.
enum class Operation : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  exscan,
  allgatherv,
  reduce_scatter,
  alltoallv,
  alltoallw,
  gatherv,
  scatterv,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw
};
inline constexpr int operation_count = 22;

// What a rank's buffer holds: one vector, one block, a block for each rank, or one for each neighbour on the
// communicator's topology.
enum class Holds : std::uint8_t { nothing, vector, own_block, all_blocks, neighbor_blocks };
// What the root does that the others do not: it alone has the input, or it alone gets the output.
enum class Root : std::uint8_t { none, gives, gets };
// Whose operands are joined in a rank's output.
enum class Joined : std::uint8_t { nothing, of_all, up_to_own, before_own };
// How long blocks are: equally long, each of a length that all ranks know, or of one that those two ranks
// know which exchange it. (Of neighbours, those at the two ends of an edge.)
enum class Lengths : std::uint8_t { equal, known_to_all, known_to_partners };

struct OperationTraits {
  Operation operation;
  std::string_view name;
  Holds input, output;
  Root root = Root::none;
  Joined joined = Joined::nothing;
  Lengths lengths = Lengths::equal;
};

inline constexpr std::array<OperationTraits, operation_count> operation_table = {{
    {Operation::barrier, "barrier", Holds::nothing, Holds::nothing},
    {Operation::bcast, "bcast", Holds::vector, Holds::vector, Root::gives},
    {Operation::reduce, "reduce", Holds::vector, Holds::vector, Root::gets, Joined::of_all},
    {Operation::allreduce, "allreduce", Holds::vector, Holds::vector, Root::none, Joined::of_all},
    {Operation::gather, "gather", Holds::own_block, Holds::all_blocks, Root::gets},
    {Operation::scatter, "scatter", Holds::all_blocks, Holds::own_block, Root::gives},
    {Operation::allgather, "allgather", Holds::own_block, Holds::all_blocks},
    {Operation::alltoall, "alltoall", Holds::all_blocks, Holds::all_blocks},
    {Operation::reduce_scatter_block, "reduce_scatter_block", Holds::all_blocks, Holds::own_block, Root::none,
     Joined::of_all},
    {Operation::scan, "scan", Holds::vector, Holds::vector, Root::none, Joined::up_to_own},
    {Operation::exscan, "exscan", Holds::vector, Holds::vector, Root::none, Joined::before_own},
    {Operation::allgatherv, "allgatherv", Holds::own_block, Holds::all_blocks, Root::none, Joined::nothing,
     Lengths::known_to_all},
    {Operation::reduce_scatter, "reduce_scatter", Holds::all_blocks, Holds::own_block, Root::none,
     Joined::of_all, Lengths::known_to_all},
    {Operation::alltoallv, "alltoallv", Holds::all_blocks, Holds::all_blocks, Root::none, Joined::nothing,
     Lengths::known_to_partners},
    {Operation::alltoallw, "alltoallw", Holds::all_blocks, Holds::all_blocks, Root::none, Joined::nothing,
     Lengths::known_to_partners},
    {Operation::gatherv, "gatherv", Holds::own_block, Holds::all_blocks, Root::gets, Joined::nothing,
     Lengths::known_to_partners},
    {Operation::scatterv, "scatterv", Holds::all_blocks, Holds::own_block, Root::gives, Joined::nothing,
     Lengths::known_to_partners},
    {Operation::neighbor_allgather, "neighbor_allgather", Holds::own_block, Holds::neighbor_blocks,
     Root::none, Joined::nothing, Lengths::known_to_partners},
    {Operation::neighbor_allgatherv, "neighbor_allgatherv", Holds::own_block, Holds::neighbor_blocks,
     Root::none, Joined::nothing, Lengths::known_to_partners},
    {Operation::neighbor_alltoall, "neighbor_alltoall", Holds::neighbor_blocks, Holds::neighbor_blocks,
     Root::none, Joined::nothing, Lengths::known_to_partners},
    {Operation::neighbor_alltoallv, "neighbor_alltoallv", Holds::neighbor_blocks, Holds::neighbor_blocks,
     Root::none, Joined::nothing, Lengths::known_to_partners},
    {Operation::neighbor_alltoallw, "neighbor_alltoallw", Holds::neighbor_blocks, Holds::neighbor_blocks,
     Root::none, Joined::nothing, Lengths::known_to_partners},
}};

constexpr const OperationTraits& traits(Operation operation) {
  return operation_table[static_cast<std::size_t>(operation)];
}

std::optional<Operation> operation_from_name(std::string_view name);
constexpr std::string_view name(Operation operation) {
  return traits(operation).name;
}

constexpr bool moves_data(Operation operation) {
  return traits(operation).input != Holds::nothing;
}
// Does each rank get what the ranks up to it have joined?
constexpr bool is_scan(Operation operation) {
  const Joined joined = traits(operation).joined;
  return joined == Joined::up_to_own || joined == Joined::before_own;
}
// Does the operation combine data with an operator?
constexpr bool is_reduction(Operation operation) {
  return traits(operation).joined != Joined::nothing;
}
// How many ranks' operands, from rank 0 on, are joined in what `rank` of `size` gets.
constexpr int joined_ranks(Operation operation, int rank, int size) {
  switch (traits(operation).joined) {
    case Joined::up_to_own:
      return rank + 1;
    case Joined::before_own:
      return rank;
    case Joined::of_all:
    case Joined::nothing:
      break;
  }
  return size;
}
constexpr bool is_rooted(Operation operation) {
  return traits(operation).root != Root::none;
}
constexpr bool sends_own_block(Operation operation) {
  return traits(operation).input == Holds::own_block;
}
constexpr bool sends_all_blocks(Operation operation) {
  return traits(operation).input == Holds::all_blocks;
}
constexpr bool gets_own_block(Operation operation) {
  return traits(operation).output == Holds::own_block;
}
constexpr bool gets_all_blocks(Operation operation) {
  return traits(operation).output == Holds::all_blocks;
}
// Do ranks exchange blocks with their neighbours on the communicator's topology alone?
constexpr bool is_neighborhood(Operation operation) {
  return traits(operation).output == Holds::neighbor_blocks;
}
inline constexpr std::array<Operation, 5> neighborhood_operations = {
    Operation::neighbor_allgather, Operation::neighbor_allgatherv, Operation::neighbor_alltoall,
    Operation::neighbor_alltoallv, Operation::neighbor_alltoallw};
// Of neighbours: has each of them a block of its own?
constexpr bool sends_neighbor_blocks(Operation operation) {
  return traits(operation).input == Holds::neighbor_blocks;
}
// Does the operation move one block per rank (as opposed to one vector, or nothing)?
constexpr bool is_block_operation(Operation operation) {
  return sends_own_block(operation) || sends_all_blocks(operation);
}
// Does the root hand out blocks?
constexpr bool is_scatter(Operation operation) {
  return traits(operation).root == Root::gives && gets_own_block(operation);
}
// Is what the root gives where the others get it, in one buffer?
constexpr bool has_one_buffer(Operation operation) {
  return traits(operation).root == Root::gives && traits(operation).output == Holds::vector;
}
constexpr bool ends_at_root(Operation operation) {
  return traits(operation).root == Root::gets;
}
// Do blocks differ in length?
constexpr bool has_uneven_blocks(Operation operation) {
  return traits(operation).lengths != Lengths::equal;
}
// Does every rank know how long every block is?
constexpr bool has_known_blocks(Operation operation) {
  return traits(operation).lengths == Lengths::known_to_all;
}
// Have all ranks a length in common that may decide? Elsewhere all calls are of size class 0. Of neighbours
// it is a block's in the call that sets up, of which ranks tell each other then.
constexpr bool is_decided_by_bytes(Operation operation) {
  return moves_data(operation) &&
         (traits(operation).lengths != Lengths::known_to_partners || is_neighborhood(operation));
}
constexpr bool is_alltoall(Operation operation) {
  return sends_all_blocks(operation) && gets_all_blocks(operation);
}
constexpr bool is_uneven_alltoall(Operation operation) {
  return is_alltoall(operation) && has_uneven_blocks(operation);
}
// Does the operation join operands and hand out blocks of the result?
constexpr bool is_scattered_reduction(Operation operation) {
  return is_reduction(operation) && is_block_operation(operation);
}
// In place, what a rank gets would lie where what it sends still does: the input is copied first.
constexpr bool copies_in_place(Operation operation) {
  return is_alltoall(operation) || is_scattered_reduction(operation);
}

}  // namespace unisono
