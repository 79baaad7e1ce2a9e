// SPDX-License-Identifier: BSD-3-Clause
// The exchange of cells between neighbours, by one of MPI's neighbourhood collectives.
#pragma once

#include <array>
#include <vector>

#include "box.h"
#include "neighbors.h"
#include "options.h"

namespace stencil {

// Whether this MPI has persistent collectives (MPI 4).
bool has_persistent_calls();

// For a field and the one that takes turns with it.
class Exchange {
 public:
  Exchange(const Options& options, const Neighbors& neighbors, Operation operation, Call call,
           std::array<Field, 2>& fields);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Cells of the field's block go out. A blocking call fills its border at once.
  void start(int field);
  // Afterwards the field's border has what came in.
  void finish(int field);

 private:
  void make_types();
  void make_places();
  void make_requests();
  void pack(int field);
  void unpack(int field);
  void call_blocking(int field);
  void call_nonblocking(int field);

  const Neighbors& neighbors_;
  Operation operation_;
  Call call_;
  std::array<Field, 2>& fields_;
  int dimensions_;
  Vector sides_{};  // of a block
  MPI_Comm comm_;
  int block_length_ = 0;  // where all blocks have one
  std::vector<double> out_, in_;
  std::vector<int> counts_out_, counts_in_, places_out_, places_in_;
  std::vector<MPI_Aint> starts_;
  std::vector<MPI_Datatype> types_out_, types_in_;
  std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace stencil
