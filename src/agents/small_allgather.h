// SPDX-License-Identifier: BSD-3-Clause
// An allgather of a few bytes among agents, by messages of their MPI, that never waits.
#pragma once

#include <cstddef>
#include <vector>

#include "host/host.h"

namespace unisono::agents {

// Who takes part, in which order, and by which tag. Those of one circle begin in the same order
// everywhere.
struct Circle {
  host::Host* host = nullptr;
  host::Comm comm{};
  std::vector<int> ranks;  // in `comm`
  int own = 0;
  int tag = 0;
};

// One at a time. Circle and buffers stay until it is over.
class SmallAllgather {
 public:
  // `out` gets the bytes of all, in the order of the circle. Returns the MPI's code.
  int begin(const Circle& circle, const void* in, void* out, std::size_t bytes);
  // Is it over? *error is then host::success or the MPI's code.
  bool test(int* error);

 private:
  host::Host* host_ = nullptr;
  std::vector<host::Request> under_way_;
  std::vector<int> completed_;
};

}  // namespace unisono::agents
