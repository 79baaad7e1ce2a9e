// SPDX-License-Identifier: BSD-3-Clause
// The functions that are counted: all that the MPI's header declares, by number.
#pragma once

#include <cstddef>
#include <string_view>

#include "adapter/profile/traits.h"
#include "preload/adapter_library.h"

namespace unisono::adapter::profile {

struct CountedFunction {
  std::string_view name;  // "Send"
  Traits traits;
};

extern const CountedFunction* const counted_functions;
extern const std::size_t counted_function_count;
// By the function's number, as all of these: what counts it, and then calls it.
extern const UnisonoFunction* const counted_wrappers;

}  // namespace unisono::adapter::profile
