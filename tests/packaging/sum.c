// SPDX-License-Identifier: BSD-3-Clause
// A job for an installation: sums that are known, over all ranks.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, is_right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 200; ++i) {
    const int own = rank + i;
    int sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    is_right = is_right && sum == ranks * (ranks - 1) / 2 + i * ranks;
  }
  if (rank == 0) printf("%d ranks, %s\n", ranks, is_right ? "right" : "wrong");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
