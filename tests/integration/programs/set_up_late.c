// SPDX-License-Identifier: BSD-3-Clause
// A communicator's first call under Unisono comes right behind collectives that went to the MPI: setting up
// must not disturb what slow ranks are still receiving. Prints OK on rank 0.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "unisono/unisono.h"

#pragma weak unisono_set_enabled

enum { doubles = 8192, rounds = 6 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static double data[doubles];
  long wrong = 0, all = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < doubles; ++i) data[i] = rank == 0 ? i % 1000 + round : -1;
    if (unisono_set_enabled != NULL) unisono_set_enabled(0);
    MPI_Bcast(data, doubles, MPI_DOUBLE, 0, comm);
    if (unisono_set_enabled != NULL) unisono_set_enabled(1);
    MPI_Barrier(comm);
    for (int i = 0; i < doubles; ++i) wrong += data[i] != i % 1000 + round;
    MPI_Comm_free(&comm);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) puts("OK");
  if (rank == 0 && all != 0) printf("%ld wrong elements\n", all);
  MPI_Finalize();
  return 0;
}
