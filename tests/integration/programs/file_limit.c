// SPDX-License-Identifier: BSD-3-Clause
// Sets a limit of no bytes for files once MPI is there, which needs some itself. Some MPIs do so in their
// first collectives: Unisono leaves those to them. Prints "RIGHT" behind MPI_Finalize.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

#include "unisono/unisono.h"

#pragma weak unisono_set_enabled

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, wrong = 0;
  if (unisono_set_enabled != NULL) unisono_set_enabled(0);
  for (int i = 0; i < 200; ++i) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (unisono_set_enabled != NULL) unisono_set_enabled(1);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
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
