// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/windows.h"

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/life.h"

namespace unisono::adapter {
namespace {

// A look at the host reads a few messages of each peer at most.
constexpr int looks = 4;

}  // namespace

int win_test(MPI_Win window, int* flag) {
  if (is_taking()) {
    const Nested nested;
    for (int i = 0; i < looks; ++i) make_host_progress();
  }
  return pmpi.Win_test(window, flag);
}

}  // namespace unisono::adapter
