// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that calls use after the program may have freed them: their end waits for that of the calls. No
// copy is made of a type: operators would see its handle, and the program's attributes would be copied.
#pragma once

#include <vector>

#include "adapter/below/family.h"

namespace unisono::adapter {

// The types of one call. Predefined ones are not counted: they never end.
class HeldTypes {
 public:
  HeldTypes() = default;
  ~HeldTypes() { release(); }
  HeldTypes(const HeldTypes&) = delete;

  void hold(MPI_Datatype type);
  void hold(const MPI_Datatype* types, int count) {
    for (int i = 0; i < count; ++i) hold(types[i]);
  }
  // Types that the program has freed meanwhile end now, where no other call holds them: their attributes'
  // delete functions are called, so no lock may be held.
  void release();
  bool is_empty() const { return types_.empty(); }

 private:
  std::vector<MPI_Datatype> types_;
};

// The wrapper of MPI_Type_free.
int type_free(MPI_Datatype* type);

}  // namespace unisono::adapter
