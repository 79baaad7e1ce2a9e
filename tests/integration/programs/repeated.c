// SPDX-License-Identifier: BSD-3-Clause
// repeated CALLS [duplicate]: so many allreduces and broadcasts of each of four sizes, from 32 bytes to 16
// KiB, checked one by one; on MPI_COMM_WORLD or on a duplicate. Rank 0 prints OK.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 2048 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  if (argc > 2) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int calls = argc > 1 ? atoi(argv[1]) : 0;
  int rank, size, wrong = 0, any_wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  static double in[most], out[most];
  for (int count = 4; count <= most; count *= 8) {
    for (int i = 0; i < calls; ++i) {
      for (int k = 0; k < count; ++k) in[k] = rank + i + k;
      MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
      for (int k = 0; k < count; ++k) wrong += out[k] != size * (size - 1) / 2 + size * (double)(i + k);
      for (int k = 0; k < count; ++k) out[k] = rank == 0 ? i - k : -1;
      MPI_Bcast(out, count, MPI_DOUBLE, 0, comm);
      for (int k = 0; k < count; ++k) wrong += out[k] != i - k;
    }
  }
  MPI_Reduce(&wrong, &any_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(any_wrong == 0 ? "OK\n" : "%d values are wrong\n", any_wrong);
  if (argc > 2) MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
