// SPDX-License-Identifier: BSD-3-Clause
// What the adapter finds out about datatypes and operators.
#pragma once

#include "host/mpi/family.h"

namespace unisono::host::mpi {

// Fills the tables of predefined handles; once, before anything below is asked.
void load_predefined();

bool is_predefined(MPI_Datatype type);
// Has the program made the operator?
bool is_user_defined(MPI_Op op);

// Predefined types come from a table, derived ones carry what was found out as an attribute: both are fast
// after the first time, and a derived type's entry goes with the type, so that a reused handle never finds
// another type's layout.
int describe(MPI_Datatype type, TypeInfo* info);

// Sizes and bounds alone; is_contiguous says that they allow the type to be contiguous (for a predefined
// type: that it is).
int measure(MPI_Datatype type, TypeInfo* info);

// Is one element of `type` its data's bytes in order, with nothing between two elements? Decided from how the
// type was made: equal size and extent do not suffice, an indexed type may permute.
int find_contiguous(MPI_Datatype type, bool* is_contiguous);

ReduceOp classify(MPI_Op op);
MPI_Op predefined(ReduceOp op);

// Does MPI define the operator for elements of `type`? The predefined ones take some predefined types, the
// program's own take what they like.
bool is_defined(MPI_Op op, MPI_Datatype type);

}  // namespace unisono::host::mpi
