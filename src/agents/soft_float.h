// SPDX-License-Identifier: BSD-3-Clause
// Reductions of float and double by Berkeley SoftFloat, as where an agent's processor has no floating point.
// docs/inside/agents.md, "No floating point", says which bits come out.
#pragma once

#include "base/reduce_kernels.h"
#include "base/types.h"

namespace unisono::agents {

// Was this built with SoftFloat? Without it there are no kernels below.
bool is_soft_float_there();

constexpr bool is_soft_type(ElementType element) {
  return element == ElementType::float32 || element == ElementType::float64;
}

// sum, prod, min and max of float and double, else null. It computes as the thread is told to that calls it:
// rounding and, where the processor has them, tiny numbers that become 0 (base/float_control.h). One thread
// at a time.
Kernel soft_kernel(ReduceOp op, ElementType element);

}  // namespace unisono::agents
