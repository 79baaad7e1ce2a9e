// SPDX-License-Identifier: BSD-3-Clause
// A program that starts a call, and ends in a way of its own, never by MPI_Finalize.
//   odd_ends HOW
// HOW is return, exit, or abort: by MPI_Abort of rank 0. With under_way it returns while a call is under way.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  const struct timespec moment = {0, 100000000};
  int rank = 0, size = 0;
  double in = 1, out = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) puts(out == size ? "OK" : "a wrong result");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  nanosleep(&moment, NULL);
  if (strcmp(how, "abort") == 0 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "exit") == 0) exit(0);
  // Rank 0 waits for the others, which begin nothing any more.
  if (strcmp(how, "abort") == 0 || (strcmp(how, "under_way") == 0 && rank == 0))
    MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  if (strcmp(how, "abort") == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  return 0;
}
