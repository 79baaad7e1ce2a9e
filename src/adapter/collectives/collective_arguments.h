// SPDX-License-Identifier: BSD-3-Clause
// What MPI's rules say of the arguments of collectives.
#pragma once

#include <cstdint>

#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "adapter/below/place.h"

namespace unisono::adapter {

inline bool is_communicator(MPI_Comm comm) {
  return comm != MPI_COMM_NULL && widen<std::uintptr_t>(comm) != 0;
}

inline bool is_intracommunicator(MPI_Comm comm) {
  int is_inter = 0;
  return pmpi.Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0;
}

template <class Count>
bool is_valid(Count count, MPI_Datatype type) {
  return count >= 0 && type != MPI_DATATYPE_NULL && widen<std::uintptr_t>(type) != 0;
}

// A null buffer is MPI_BOTTOM, which only derived types with absolute addresses can use.
template <class Count>
bool is_valid(const void* buffer, Count count, MPI_Datatype type) {
  return is_valid(count, type) && buffer != MPI_IN_PLACE &&
         (buffer != nullptr || count == 0 || may_be_at_bottom(type));
}

inline bool is_operator(MPI_Op op) {
  return op != MPI_OP_NULL && widen<std::uintptr_t>(op) != 0;
}

// This process and `root`: whether root is a rank of `comm`, and whether it is us. (Of an intercommunicator's
// roots some fail, others pass; either way the host serves the call.)
struct Root {
  Root(MPI_Comm comm, int root) {
    Place place{};
    if (!find_place(comm, &place)) return;
    is_valid = root >= 0 && root < place.size;
    is_here = root == place.rank;
    size = place.size;
  }
  bool is_valid = false;
  bool is_here = false;
  int size = 0;
};

inline bool is_root_here(MPI_Comm comm, int root) {
  return is_communicator(comm) && Root(comm, root).is_here;
}

// --- Send and receive buffers that are the same. The hosts may call that an error. A rank whose host rejects
// its arguments must not be served, and a rank whose host accepts them must be: the other ranks know nothing
// of it. So each rank looks as its host does. (MPICH: validation in its generated bindings.) Absolute
// addresses share MPI_BOTTOM without being equal. ---

// Of vectors to be reduced. Open MPI computes, but for MPI_Reduce's root and MPI_Allreduce: `is_by_all`.
template <class Count>
bool is_rejected_alias(const void* in, const void* out, Count count, bool is_by_all = false) {
  return (rejects_aliases || is_by_all) && in == out && in != MPI_BOTTOM && count > 0;
}

// Of this rank's block and the buffer of all, `distance` elements in front of where it belongs.
template <class Distance>
bool is_own_place(const void* own, const void* all, Distance distance, MPI_Datatype type) {
  constexpr std::intptr_t largest = 64;  // bytes of a predefined type
  const auto gap = static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(own) -
                                              reinterpret_cast<std::uintptr_t>(all));
  const auto elements = static_cast<std::intptr_t>(distance);
  if (own == MPI_BOTTOM) return false;
  if (gap == 0 || elements == 0) return gap == elements;
  if ((gap > 0) != (elements > 0) || (gap > elements * largest && is_predefined(type))) return false;
  MPI_Count bytes = 0;
  return pmpi.Type_size_x(type, &bytes) == MPI_SUCCESS && elements * static_cast<std::intptr_t>(bytes) == gap;
}

template <class Count>
bool is_rejected_block(const void* own, Count own_count, MPI_Datatype own_type, const void* all, Count count,
                       MPI_Datatype type, int rank) {
  if (!rejects_aliases || own_type != type || own_count != count || count == 0) return false;
  return is_own_place(own, all, static_cast<std::int64_t>(rank) * static_cast<std::int64_t>(count), type);
}

// Where nothing else is asked of the communicator. (An intercommunicator's blocks are of the other group.)
template <class Count>
bool is_rejected_block_of(MPI_Comm comm, const void* own, Count own_count, const void* all, Count count,
                          MPI_Datatype type) {
  Place place{};
  return rejects_aliases && find_place(comm, &place) && is_intracommunicator(comm) &&
         is_rejected_block(own, own_count, type, all, count, type, place.rank);
}

}  // namespace unisono::adapter
