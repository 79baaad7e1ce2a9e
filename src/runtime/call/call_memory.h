// SPDX-License-Identifier: BSD-3-Clause
// Where a call's buffers are, as the handler of signals (crash_watch.h) must know it: without memory of its
// own, and without the MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/call/call.h"

namespace unisono::runtime {

// Of a block of elements without gaps, from the side's buffer on. Blocks without displacements have one
// place.
inline std::ptrdiff_t offset_of(const BlockArguments& blocks, std::int64_t block, std::size_t element_bytes) {
  if (blocks.displacements == nullptr) return 0;
  const auto step = blocks.types != nullptr ? 1 : static_cast<std::ptrdiff_t>(element_bytes);
  return blocks.displacement_of(block) * step;
}

// Of uneven blocks: who has read where they are, else their elements' lengths.
struct UnevenMemory {
  bool (*holds)(const void* blocks, std::uintptr_t address) = nullptr;
  const void* blocks = nullptr;
  std::size_t send_bytes = 0, recv_bytes = 0;
};

// Of a call that an algorithm works for. Vectors, and blocks of one length, go by the call's `bytes`, as size
// classes count them. A small call writes this down each time: it is short.
struct CallMemory {
  const Call* call = nullptr;  // null: nothing is known
  int ranks = 1;
  const UnevenMemory* uneven = nullptr;

  // Is it an address of the buffers that the program says it has?
  bool holds(std::uintptr_t address, std::int64_t bytes) const;
  // Has it given one that no program can have? Faults there come without their address.
  bool has_impossible() const;
};

}  // namespace unisono::runtime
