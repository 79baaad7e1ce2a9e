// SPDX-License-Identifier: BSD-3-Clause
// What the adapter finds out about datatypes and operators.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "adapter/below/family.h"

namespace unisono::adapter {

enum class Kind : std::uint8_t {
  byte,
  character,
  signed_integer,
  unsigned_integer,
  fortran_integer,
  multi_language_integer,
  floating,
  complex,
  c_bool,
  logical,
  float_int,
  double_int,
  int_int,
  pair,  // of a value and an index, without a kernel of ours
  other
};

struct PredefinedType {
  std::uintptr_t handle = 0;  // 0: a free place (no family has a predefined type of this value)
  Kind kind = Kind::other;
  std::atomic<bool> is_described{false};
  host::TypeInfo info;
  // What was found out of each predefined operator on it (operators.h); 0: nothing yet.
  struct OnType {
    std::atomic<std::uint8_t> answer{0}, kernel{0};
  };
  std::array<OnType, static_cast<std::size_t>(ReduceOp::host)> operators;
};

// Fills the tables of predefined handles; once, before anything below is asked.
void load_predefined();

bool is_predefined(MPI_Datatype type);
// Null where it is not.
PredefinedType* find_predefined(MPI_Datatype type);
// Has it absolute addresses, so that a buffer may be MPI_BOTTOM?
bool may_be_at_bottom(MPI_Datatype type);
// Has the program made the operator?
bool is_user_defined(MPI_Op op);

// Where a call with a type can be tried: a communicator of ours, on which errors return. Null at the end.
void try_types_on(MPI_Comm comm);

// An uncommitted type is an error here, since the host would not take it in a call. No handler hears of that
// error. Predefined types come from a table. What was found out about a derived type is kept as an attribute
// of it. Both are fast after the first time. A derived type's entry goes with the type, so a reused handle
// never finds another type's layout.
int describe(MPI_Datatype type, host::TypeInfo* info);

// The wrapper of MPI_Type_free.
int end_type(MPI_Datatype* type);

// Sizes and bounds alone; is_contiguous says that they allow the type to be contiguous (for a predefined
// type: that it is).
int measure(MPI_Datatype type, host::TypeInfo* info);

// Is one element of `type` its data's bytes in order, with nothing between two elements? Decided from how the
// type was made: equal size and extent do not suffice, an indexed type may permute.
int find_contiguous(MPI_Datatype type, bool* is_contiguous);

ReduceOp classify(MPI_Op op);
MPI_Op predefined(ReduceOp op);

}  // namespace unisono::adapter
