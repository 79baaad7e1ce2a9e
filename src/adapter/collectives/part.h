// SPDX-License-Identifier: BSD-3-Clause
// Calls that the host rejects on this rank, while the other ranks need no more than this rank's part. They
// send data to it, or get data that this rank would not have seen, and with the MPI alone they go on. So this
// rank takes part, in memory that is nobody's. It does so before the host's error handlers speak, which may
// wait for the other ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/nesting.h"
#include "adapter/collectives/collective_arguments.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

// Memory for so many elements of a predefined type.
template <class Count>
bool make_spare(Count count, MPI_Datatype type, std::vector<char>* spare) {
  host::TypeInfo info;
  if (!is_valid(count, type) || !is_predefined(type) || describe(type, &info) != MPI_SUCCESS) return false;
  spare->resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(info.extent_bytes));
  return true;
}

// Blocking calls alone, of predefined types. The rest of `call` is as it should be; `blocks` of `count`
// elements have no place to go.
template <class... Tail, class Count>
void take_part(runtime::Call call, int blocks, Count count, MPI_Datatype type) {
  if constexpr (sizeof...(Tail) == 0) {
    std::vector<char> spare;
    if (!make_spare(static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(count), type, &spare))
      return;
    call.recv_buffer = spare.data();
    if (call.operation == Operation::bcast || call.send_buffer == nullptr) call.send_buffer = spare.data();
    const Nested nested;
    runtime::take_part(call);
  }
}

// The same of uneven blocks, so many elements together.
template <class... Tail>
void take_part_of_blocks(runtime::Call call, std::int64_t elements, MPI_Datatype type) {
  if constexpr (sizeof...(Tail) == 0) {
    std::vector<char> spare;
    if (!make_spare(elements, type, &spare)) return;
    call.recv_blocks.buffer = spare.data();
    call.recv_blocks.type = widen<host::Datatype>(type);
    const Nested nested;
    runtime::take_part(call);
  }
}

}  // namespace unisono::adapter
