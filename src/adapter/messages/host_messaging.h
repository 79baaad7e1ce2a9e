// SPDX-License-Identifier: BSD-3-Clause
// The MPI's own functions that send and receive, for counts of both kinds.
#pragma once

#include <type_traits>

#include "adapter/below/elements.h"
#include "adapter/below/functions.h"

namespace unisono::adapter::messages {

// Calls `function` as the MPI has it. Where it lacks the function for large counts, a count that no int holds
// is one element of a type made for it.
template <class Count, class Small, class Large, class... Behind>
int call_host(const MessageFunction<Small, Large>& function, const void* buffer, Count count,
              MPI_Datatype type, Behind... behind) {
  using Buffer = std::conditional_t<std::is_invocable_v<Small, const void*, int, MPI_Datatype, Behind...>,
                                    const void*, void*>;
  auto* data = const_cast<std::remove_const_t<std::remove_pointer_t<Buffer>>*>(buffer);
  if constexpr (std::is_same_v<Count, int>) {
    return function.small(data, count, type, behind...);
  } else {
    if (function.large != nullptr) return function.large(data, count, type, behind...);
    const Elements elements(count, type);
    if (elements.error != MPI_SUCCESS) return elements.error;
    return function.small(data, elements.count, elements.type, behind...);
  }
}

}  // namespace unisono::adapter::messages
