// SPDX-License-Identifier: BSD-3-Clause
// Unisono's own reduction kernels, for the predefined operators on the predefined types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace unisono {

// into = left op right, element by element. `into` may be `left` or `right` exactly, or lie apart from both;
// no alignment is needed. The results are those of the C operators without contraction; ties of minloc and
// maxloc go to the lower index.
using Kernel = void (*)(void* into, const void* left, const void* right, std::size_t count);

// Null where MPI does not allow the operator on the type, and where only the host MPI can apply it.
Kernel reduce_kernel(ReduceOp op, ElementType type);

// From one element to the next as the kernels see them, bytes: C's layout (double_int: 16, with 4 of
// padding). 0 for `other` and `derived`.
std::size_t element_bytes(ElementType type);

// Kernels exist for several vector units; the one above is for the best that this machine has.
enum class VectorUnit : std::uint8_t { baseline, avx2, avx512 };
bool is_usable(VectorUnit unit);
Kernel reduce_kernel(ReduceOp op, ElementType type, VectorUnit unit);

}  // namespace unisono
