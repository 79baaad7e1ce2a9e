// SPDX-License-Identifier: BSD-3-Clause
// Blocks of different lengths, from MPI's arguments to the runtime's.
#pragma once

#include <cstdint>

#include "adapter/below/family.h"
#include "adapter/collectives/collectives.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

inline bool is_type(MPI_Datatype type) {
  return type != MPI_DATATYPE_NULL && widen<std::uintptr_t>(type) != 0;
}

template <class Count>
runtime::BlockArguments one_block(const void* buffer, Count count, MPI_Datatype type) {
  runtime::BlockArguments blocks;
  blocks.buffer = const_cast<void*>(buffer);
  blocks.count = static_cast<std::size_t>(count);
  blocks.type = widen<host::Datatype>(type);
  return blocks;
}

template <class Count>
runtime::BlockArguments all_blocks(const void* buffer, const Count* counts, const Displacement<Count>* places,
                                   MPI_Datatype type) {
  static_assert(sizeof(Displacement<Count>) == sizeof(Count) && (sizeof(Count) == 4 || sizeof(Count) == 8));
  runtime::BlockArguments blocks;
  blocks.buffer = const_cast<void*>(buffer);
  blocks.counts = counts;
  blocks.displacements = places;
  blocks.are_large = sizeof(Count) == 8;
  blocks.type = widen<host::Datatype>(type);
  return blocks;
}

// A null array or type breaks MPI's rules.
template <class Count>
bool are_valid(const void* buffer, const Count* counts, const Displacement<Count>* places) {
  return buffer != MPI_IN_PLACE && counts != nullptr && places != nullptr;
}

}  // namespace unisono::adapter
