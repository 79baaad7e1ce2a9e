// SPDX-License-Identifier: BSD-3-Clause
// What a thread needs not look up again of a call like the one before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/host.h"
#include "runtime/call/call.h"
#include "runtime/communicators/classes.h"
#include "shm/slice/slice.h"

namespace unisono::runtime {

// What a fused operation moves: a vector or a block, and for reductions how it is joined.
struct FusedSize {
  std::size_t elements = 0;
  std::size_t bytes = 0;
  shm::Combine combine;
};

// A call of one operation, of a predefined type and an operator with a kernel: one with the same arguments
// needs no second look at them. A small collective takes as long as two cache misses; looking everything up
// takes as long again.
struct CallMemo {
  CallClass* entry = nullptr;
  bool is_of_all = false;  // every call of the operation: its arguments do not count
  std::size_t send_count = 0, recv_count = 0;
  host::Datatype send_type{}, recv_type{};
  host::Op op{};
  FusedSize size;
  // Of scheduled calls:
  std::size_t element_bytes = 1;
  bool is_commutative = true;

  bool holds(const Call& call) const {
    return entry != nullptr &&
           (is_of_all || (send_count == call.send_count && send_type == call.send_type && op == call.op &&
                          recv_count == call.recv_count && recv_type == call.recv_type));
  }
  // A call that the host made, and one of a reduction that is like it.
  bool is_left(const Reduced& reduced) const {
    return entry != nullptr && entry->kind == CallClass::Kind::native && send_count == reduced.count &&
           send_type == reduced.type && op == reduced.op;
  }
};

// The same for fused calls on uneven blocks of types without gaps; counts and places differ from call to
// call.
struct BlockMemo {
  CallClass* entry = nullptr;
  int size_class = 0;
  host::Datatype send_type{}, recv_type{};
  std::size_t send_bytes = 0, recv_bytes = 0;  // of an element
  int lines = 1;                               // of a block
  host::Op op{};                               // of reductions
  shm::Combine combine;
};

// Of one operation, the last call that was fused or left to the host, and the last one that was scheduled.
// So a program's small and large calls do not drive out each other.
struct CallMemos {
  CallMemo quick, scheduled;
};

// By operation; `blocks` of those on uneven blocks.
struct Memos {
  CallMemos calls[operation_count];
  BlockMemo blocks[operation_count];
};

}  // namespace unisono::runtime
