// SPDX-License-Identifier: BSD-3-Clause
// What a program takes that does nothing: its start and its end.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
