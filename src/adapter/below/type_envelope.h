// SPDX-License-Identifier: BSD-3-Clause
// By which constructor a datatype was made.
#pragma once

#include "adapter/below/family.h"
#include "adapter/below/functions.h"

namespace unisono::adapter {

// How many numbers of each kind, and types, the constructor was given.
struct Lengths {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count types = 0;
};

// MPI_Type_get_envelope alone is an error for types that were made with large counts, and an error handler
// would hear of it.
inline int get_envelope(MPI_Datatype type, Lengths* lengths, int* combiner) {
  if (pmpi.Type_get_envelope_c != nullptr) {
    return pmpi.Type_get_envelope_c(type, &lengths->integers, &lengths->addresses, &lengths->large_counts,
                                    &lengths->types, combiner);
  }
  int integers = 0;
  int addresses = 0;
  int types = 0;
  const int error = pmpi.Type_get_envelope(type, &integers, &addresses, &types, combiner);
  lengths->integers = integers;
  lengths->addresses = addresses;
  lengths->types = types;
  return error;
}

// Types that the program did not make must not be freed either.
inline bool is_built_in(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace unisono::adapter
