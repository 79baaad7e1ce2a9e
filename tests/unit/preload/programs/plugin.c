// SPDX-License-Identifier: BSD-3-Clause
// A library that was linked with some MPI and calls it.
#define EXPORT __attribute__((visibility("default")))

extern int MPI_Init(int count, ...);
extern int MPI_Barrier(long comm);

EXPORT int call_init(void) {
  const int result = MPI_Init(0);
  return result + 1;
}

EXPORT int call_barrier(long comm) {
  const int result = MPI_Barrier(comm);
  return result + 1;
}

// The compiler makes a jump of this call, so that the function called does not see who calls.
EXPORT int jump_to_barrier(long comm) {
  return MPI_Barrier(comm);
}
