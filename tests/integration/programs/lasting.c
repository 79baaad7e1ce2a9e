// SPDX-License-Identifier: BSD-3-Clause
// A program that lasts until a file is there, at most a minute, and ends with a status that its rank 0 is
// told.
//   lasting FILE STATUS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char** words) {
  const struct timespec moment = {0, 20000000};
  int rank = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) puts("begun");
  fflush(stdout);
  for (int i = 0; i < 3000 && access(words[1], F_OK) != 0; ++i) nanosleep(&moment, NULL);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return rank == 0 ? atoi(words[2]) : 0;
}
