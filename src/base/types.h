// SPDX-License-Identifier: BSD-3-Clause
// The vocabulary that all layers share: element types, operators, and operations (operations.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/operations.h"

namespace unisono {

// What one element of a predefined datatype is, for Unisono's own reduction kernels. `other` is every
// predefined type that only the host MPI reduces (long double, pairs such as MPI_LONG_DOUBLE_INT, ...);
// `derived` every type that the program made.
enum class ElementType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  complex64,
  complex128,
  bool8,
  logical32,
  byte,
  float_int,
  double_int,
  int_int,
  other,
  derived
};

// Predefined operators. `host` is every operator that only the host MPI can apply (user-defined ones, and
// what Unisono has no kernel for).
enum class ReduceOp : std::uint8_t {
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  host
};

std::string_view name(ReduceOp op);
std::string_view name(ElementType type);

}  // namespace unisono
