// SPDX-License-Identifier: BSD-3-Clause
// Four ranks in a grid: many calls of one kind on their rows, then on their columns, then on duplicates of
// both in turns. Prints "RIGHT" where all results are right.
#include <mpi.h>
#include <stdio.h>

enum { count = 30000, calls = 400 };

static int rank, wrong;
static long in[count], out[count];

static void allreduce(MPI_Comm comm, long sum) {
  for (int i = 0; i < count; ++i) in[i] = rank + i;
  MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) {
    if (out[i] != sum + 2L * i && wrong++ < 5) fprintf(stderr, "rank %d: element %d is wrong\n", rank, i);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int row = rank / 2, column = rank % 2;
  const long of_row = 4L * row + 1, of_column = 2L * column + 2;
  MPI_Comm comms[4];
  MPI_Comm_split(MPI_COMM_WORLD, row, column, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, column, row, &comms[1]);
  MPI_Comm_dup(comms[0], &comms[2]);
  MPI_Comm_dup(comms[1], &comms[3]);
  for (int i = 0; i < calls; ++i) allreduce(comms[0], of_row);
  for (int i = 0; i < calls; ++i) allreduce(comms[1], of_column);
  for (int i = 0; i < calls; ++i) {
    allreduce(comms[2], of_row);
    allreduce(comms[3], of_column);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong == 0 ? "RIGHT" : "WRONG");
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
