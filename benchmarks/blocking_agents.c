// SPDX-License-Identifier: BSD-3-Clause
// How long a blocking allreduce of one double takes (blocking_agents.py):
//   blocking_agents CALLS
// Results are checked. Prints the median of the second half of the calls, seconds, each the longest rank's.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return a < b ? -1 : a > b;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = argc > 1 ? atoi(argv[1]) : 1000;
  double *took = calloc((size_t)calls, sizeof *took), *longest = calloc((size_t)calls, sizeof *longest);
  if (took == NULL || longest == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int call = 0; call < calls; ++call) {
    const double in = call + rank;
    double out = -1;
    const double since = MPI_Wtime();
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    took[call] = MPI_Wtime() - since;
    if (out != size * (double)call + size * (size - 1) / 2.0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Reduce(took, longest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const int measured = calls - calls / 2;
  qsort(longest + calls / 2, (size_t)measured, sizeof *longest, compare);
  if (rank == 0) printf("%.9f\n", longest[calls / 2 + measured / 2]);
  free(took);
  free(longest);
  MPI_Finalize();
  return 0;
}
