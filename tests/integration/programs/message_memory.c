// SPDX-License-Identifier: BSD-3-Clause
// A rank that may have no more memory gets messages that it has not asked for: Unisono must keep them.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// What the process has now, and 16 MiB.
static void allow_little(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) exit(1);
  fclose(file);
  const struct rlimit limit = {.rlim_cur = pages * 4096 + (16 << 20), .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) exit(1);
}

int main(int argc, char** argv) {
  enum { count = 4000, bytes = 60000 };
  MPI_Init(&argc, &argv);
  int rank = 0, has_come = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(1, bytes);
  if (rank == 0) {
    MPI_Request* requests = malloc(count * sizeof *requests);
    for (int i = 0; i < count; ++i) MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  } else {
    allow_little();
    while (!has_come) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
