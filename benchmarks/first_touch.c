// SPDX-License-Identifier: BSD-3-Clause
// Each of the first calls of a fresh job, timed by itself, with a barrier before it:
//     first_touch OPERATION BYTES CALLS
// Rank 0 prints a JSON object: of each call the microseconds that the slowest rank took, and the page faults
// that all ranks' callers met in it.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "measured_operations.h"

// Of this thread alone: what others map ahead costs the caller nothing.
static double faults_so_far(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return (double)usage.ru_minflt;
}

static void print(const char* key, const double* values, int count, const char* end) {
  printf("\"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.5g", i ? ", " : "", values[i]);
  printf("]%s", end);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const struct Operation* op = find_operation(argv[1]);
  const int bytes = atoi(argv[2]), calls = atoi(argv[3]);
  if (op == NULL || bytes < 1 || calls < 1) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t room = ((size_t)bytes * 3 / 2 + 8) * (size_t)size, times = (size_t)calls * sizeof(double);
  input = malloc(room);
  output = malloc(room);
  double *taken = malloc(times), *faults = malloc(times), *slowest = malloc(times),
         *all_faults = malloc(times);
  if (!input || !output || !taken || !faults || !slowest || !all_faults) MPI_Abort(MPI_COMM_WORLD, 1);
  // The program's own memory is not what is looked at.
  memset(input, 0, room);
  memset(output, 0, room);
  memset(taken, 0, times);
  memset(faults, 0, times);
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double faults_before = faults_so_far();
    const double start = MPI_Wtime();
    op->run(bytes);
    taken[i] = (MPI_Wtime() - start) * 1e6;
    faults[i] = faults_so_far() - faults_before;
  }
  MPI_Reduce(taken, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(faults, all_faults, calls, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{");
    print("us", slowest, calls, ", ");
    print("faults", all_faults, calls, "}\n");
  }
  free(all_faults);
  free(slowest);
  free(faults);
  free(taken);
  free(output);
  free(input);
  MPI_Finalize();
  return 0;
}
