// SPDX-License-Identifier: BSD-3-Clause
// The vocabulary that all layers share: operations, element types, operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace unisono {

// Collective operations. Names are MPI's without the prefix, in lower case.
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
  scatterv
};
inline constexpr int operation_count = 17;

std::string_view name(Operation operation);
std::optional<Operation> operation_from_name(std::string_view name);

// Does each rank get what the ranks up to it have joined?
constexpr bool is_scan(Operation operation) {
  return operation == Operation::scan || operation == Operation::exscan;
}
// Does the operation combine data with an operator?
constexpr bool is_reduction(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::reduce_scatter_block || operation == Operation::reduce_scatter ||
         is_scan(operation);
}
// Does the operation have a root?
constexpr bool is_rooted(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce || operation == Operation::gather ||
         operation == Operation::scatter || operation == Operation::gatherv ||
         operation == Operation::scatterv;
}
inline constexpr int first_uneven_operation = static_cast<int>(Operation::allgatherv);
// Do blocks differ in length?
constexpr bool has_uneven_blocks(Operation operation) {
  return operation >= Operation::allgatherv;
}
// Does every rank know how long every block is? (In the other operations on uneven blocks a rank knows those
// that it sends or gets.)
constexpr bool has_known_blocks(Operation operation) {
  return operation == Operation::allgatherv || operation == Operation::reduce_scatter;
}
// Have all ranks a length in common that may decide? Elsewhere all calls are of size class 0.
constexpr bool is_decided_by_bytes(Operation operation) {
  return operation != Operation::barrier && (!has_uneven_blocks(operation) || has_known_blocks(operation));
}
constexpr bool is_uneven_alltoall(Operation operation) {
  return operation == Operation::alltoallv || operation == Operation::alltoallw;
}
// Does the operation move one block per rank (as opposed to one vector, or nothing)?
constexpr bool is_block_operation(Operation operation) {
  return operation == Operation::gather || operation == Operation::scatter ||
         operation == Operation::allgather || operation == Operation::alltoall ||
         operation == Operation::reduce_scatter_block || has_uneven_blocks(operation);
}

// What one element of a predefined datatype is, for Unisono's own reduction kernels. `other` is every
// predefined type that only the host MPI reduces (long double, pairs such as MPI_LONG_DOUBLE_INT, ...);
// `derived` every type that the program made.
enum class ElementType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  complex64,
  complex128,
  bool8,
  logical32,
  byte,
  float_int,
  double_int,
  int_int,
  other,
  derived
};

// Predefined operators. `host` is every operator that only the host MPI can apply (user-defined ones, and
// what Unisono has no kernel for).
enum class ReduceOp : std::uint8_t {
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  host
};

std::string_view name(ReduceOp op);
std::string_view name(ElementType type);

}  // namespace unisono
