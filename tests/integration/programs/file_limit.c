// SPDX-License-Identifier: BSD-3-Clause
// Sets a limit of no bytes for files once MPI is there, which needs some itself; prints "RIGHT" behind
// MPI_Finalize.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2000; ++i) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2;
  }
  MPI_Finalize();
  if (rank == 0) puts(wrong == 0 ? "RIGHT" : "WRONG");
  return 0;
}
