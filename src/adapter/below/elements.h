// SPDX-License-Identifier: BSD-3-Clause
// Counts above what an int holds, for functions that take ints.
#pragma once

#include <climits>

#include "adapter/below/functions.h"

namespace unisono::adapter {

// One block of a made type, and one piece of a reduction that is cut. The same on all ranks.
inline constexpr MPI_Count piece_elements = MPI_Count{1} << 30;

// Not too large for an int. Negative counts stay negative, so that the host reports them.
constexpr bool fits(MPI_Count count) {
  return count <= INT_MAX;
}
// As an int; -1 where there is none.
constexpr int narrowed(MPI_Count count) {
  return count < 0 || !fits(count) ? -1 : static_cast<int>(count);
}

// MPI_Type_get_extent_x, without the lower bound.
int extent_of(MPI_Datatype type, MPI_Count* extent);

// `count` elements of `type` as an int and a type. Where the count fits into an int, they are what was given.
// Elsewhere they are one element of a type made for it, which lives as long as this object. Check `error`
// first.
class Elements {
 public:
  Elements(MPI_Count count, MPI_Datatype type);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int count = 0;
  MPI_Datatype type;
  int error = MPI_SUCCESS;

 private:
  bool is_made_ = false;
};

}  // namespace unisono::adapter
