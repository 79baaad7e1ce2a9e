// SPDX-License-Identifier: BSD-3-Clause
// A profiling tool as a program is linked with it: says that it was called and hands the call on under its
// PMPI_ name.
#include <stdio.h>

extern int PMPI_Barrier(long comm);

__attribute__((visibility("default"))) int MPI_Barrier(long comm) {
  printf("tool Barrier\n");
  return PMPI_Barrier(comm);
}
