// SPDX-License-Identifier: BSD-3-Clause
// main of the adapter's tests: UNISONO_TEST_MPI names the MPI library. Our life begins with the wrapper of
// MPI_Init and ends by the host's own MPI_Finalize, which only the attribute of COMM_SELF can tell us of.
#include "real_mpi.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "adapter/below/datatype.h"
#include "adapter/below/nesting.h"
#include "adapter/life.h"
#include "recording_runtime.h"

void* mpi_library = nullptr;

namespace {

bool complain(const char* problem) {
  std::fprintf(stderr, "%s\n", problem);
  return false;
}

bool begin() {
  using namespace unisono::adapter;
  const char* path = std::getenv("UNISONO_TEST_MPI");
  if (path == nullptr) return complain("UNISONO_TEST_MPI must name an MPI library");
  mpi_library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (mpi_library == nullptr) return complain(dlerror());
  char problem[512];
  if (!load_functions(mpi_library, problem, sizeof problem)) return complain(problem);
  load_predefined();
  int provided = 0;
  if (init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    return complain("no MPI_Init");
  if (recording.starts != 1 || !is_taking()) return complain("the runtime was not started");
  return pmpi.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
         pmpi.Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

bool end() {
  using namespace unisono::adapter;
  if (pmpi.Finalize() != MPI_SUCCESS) return complain("no MPI_Finalize");
  if (recording.finishes != 1) return complain("the runtime did not finish with COMM_SELF");
  return !is_taking() || complain("still taking calls after the end");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!begin()) return 1;
  const int result = RUN_ALL_TESTS();
  return end() ? result : 1;
}
