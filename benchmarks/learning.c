// SPDX-License-Identifier: BSD-3-Clause
// A program that makes one kind of calls again and again, as the source's figure 4 does:
//   learning OPERATION BYTES CALLS
// Rank 0 prints a JSON object: seconds of all calls, and of the last quarter of them, on the slowest rank.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *in, *out;
static int bytes, size;

static void call(const char* operation) {
  if (strcmp(operation, "allreduce") == 0) {
    MPI_Allreduce(in, out, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(operation, "alltoall") == 0) {
    MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
  } else if (strcmp(operation, "allgather") == 0) {
    MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bytes = atoi(argv[2]);
  const int calls = atoi(argv[3]);
  in = calloc((size_t)bytes * (size_t)size + 8, 1);
  out = calloc((size_t)bytes * (size_t)size + 8, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double last = start;
  for (int i = 0; i < calls; ++i) {
    if (i == calls - calls / 4) last = MPI_Wtime();
    call(argv[1]);
  }
  const double end = MPI_Wtime();
  double seconds[2] = {end - start, end - last}, slowest[2];
  MPI_Reduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"all_s\": %.9f, \"last_s\": %.9f}\n", slowest[0], slowest[1]);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
