// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/elements.h"

#include <algorithm>
#include <vector>

namespace unisono::adapter {
namespace {

// Indexed rather than a struct of a big and a small part: a struct's extent may be padded.
int make_type(MPI_Count count, MPI_Datatype type, MPI_Datatype* made) {
  MPI_Count extent = 0;
  int error = extent_of(type, &extent);
  if (error != MPI_SUCCESS) return error;
  std::vector<int> lengths;
  std::vector<MPI_Aint> displacements;
  for (MPI_Count done = 0; done < count; done += piece_elements) {
    lengths.push_back(static_cast<int>(std::min(piece_elements, count - done)));
    displacements.push_back(static_cast<MPI_Aint>(done * extent));
  }
  error = pmpi.Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                                    type, made);
  return error == MPI_SUCCESS ? pmpi.Type_commit(made) : error;
}

}  // namespace

int extent_of(MPI_Datatype type, MPI_Count* extent) {
  MPI_Count lower_bound = 0;
  return pmpi.Type_get_extent_x(type, &lower_bound, extent);
}

Elements::Elements(MPI_Count total, MPI_Datatype element) : type(element) {
  if (fits(total)) {
    count = narrowed(total);
    return;
  }
  error = make_type(total, element, &type);
  is_made_ = error == MPI_SUCCESS;
  count = 1;
}

Elements::~Elements() {
  if (is_made_) pmpi.Type_free(&type);
}

}  // namespace unisono::adapter
