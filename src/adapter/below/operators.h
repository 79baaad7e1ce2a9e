// SPDX-License-Identifier: BSD-3-Clause
// Which operators the host applies to which types. The standard names some pairs; each host takes others
// besides, such as a sum of MPI_CHAR or the logical operators on a Fortran INTEGER. It is asked for those.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

// Does the host apply `op` to elements of `type`? The same answer on all ranks of a job. The program's own
// operators take what they like. Thread-safe.
bool is_defined(MPI_Op op, MPI_Datatype type);

// The type whose kernel of Unisono's gives the host's bits for a pair that is defined: `element` itself where
// the standard names the pair, `other` where there is none. Thread-safe.
ElementType kernel_type(MPI_Op op, MPI_Datatype type, ElementType element);

// Before the host's MPI_Finalize.
void end_operators();

}  // namespace unisono::adapter
