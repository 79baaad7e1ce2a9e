// SPDX-License-Identifier: BSD-3-Clause
// Programs that need most of their limited address space. First word:
//     memory LIMIT NEED   may have so much, MiB, from before MPI_Init on, and needs NEED of that for itself
//     grows               uses many communicators at once
// All make collectives and say how much address space the process has.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long address_space_mib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) return -1;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

static int is_right(MPI_Comm comm) {
  static int values[30000], sums[30000];
  int size, right = 1;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 30000; ++i) values[i] = i;
  for (int elements = 1; elements <= 30000; elements *= 173) {
    memset(sums, 0, sizeof sums);
    MPI_Allreduce(values, sums, elements, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < elements; ++i) right &= sums[i] == size * i;
  }
  return right;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const long limit_mib = argc > 2 ? atol(argv[2]) : 0, mib = argc > 3 ? atol(argv[3]) : 0;
  int rank, size, right = 1;
  const struct rlimit limit = {.rlim_cur = (rlim_t)limit_mib << 20, .rlim_max = (rlim_t)limit_mib << 20};
  if (limit_mib != 0 && setrlimit(RLIMIT_AS, &limit) != 0) return 99;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long at_start = address_space_mib();
  if (strcmp(mode, "memory") == 0) {
    const size_t bytes = (size_t)mib << 20;
    char* memory = malloc(bytes);
    right = memory != NULL;
    if (right) memset(memory, 1, bytes);
    right &= is_right(MPI_COMM_WORLD);
  } else if (strcmp(mode, "grows") == 0) {
    enum { count = 24 };
    MPI_Comm comms[count];
    for (int i = 0; i < count; ++i) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
      right &= is_right(comms[i]);
    }
    for (int i = 0; i < count; ++i) right &= is_right(comms[i]);
    for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
    for (int i = 0; i < 3; ++i) {
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[i]);
      right &= is_right(comms[i]);
    }
    for (int i = 0; i < 3; ++i) MPI_Comm_free(&comms[i]);
  } else {
    right = is_right(MPI_COMM_WORLD);
  }
  int all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %d\nat start %ld\n", all == size ? "RIGHT" : "WRONG", size, at_start);
  MPI_Finalize();
  return !right;
}
