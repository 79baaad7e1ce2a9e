// SPDX-License-Identifier: BSD-3-Clause
// A program that makes one kind of calls again and again, and says when each began and how long it took:
//     drift OPERATION BYTES CALLS
// When half of the calls are made rank 0 prints "half" and all wait until it has read a character: who
// started the program changes the network meanwhile. At the end it prints a JSON object, whose `seconds` are
// those of the slowest rank.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measured_operations.h"

static void print(const char* key, const char* format, const double* values, int count) {
  printf("\"%s\": [", key);
  for (int i = 0; i < count; ++i) {
    if (i != 0) printf(", ");
    printf(format, values[i]);
  }
  printf("]");
}

static void wait_for_change(void) {
  if (rank == 0) {
    puts("half");
    fflush(stdout);
    getchar();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int bytes = atoi(argv[2]), calls = atoi(argv[3]);
  const struct Operation* op = find_operation(argv[1]);
  if (op == NULL || calls < 1) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t room = ((size_t)bytes * 3 / 2 + 8) * (size_t)size;
  input = calloc(room, 1);
  output = calloc(room, 1);
  double* seconds = calloc((size_t)calls, sizeof *seconds);
  double* slowest = calloc((size_t)calls, sizeof *slowest);
  for (int i = 0; i < calls; ++i) {
    if (i == calls / 2) wait_for_change();
    const double begin_s = now_s();
    op->run(bytes);
    seconds[i] = now_s() - begin_s;
  }
  MPI_Reduce(seconds, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{");
    print("seconds", "%.4g", slowest, calls);
    printf("}\n");
  }
  free(input);
  free(output);
  free(seconds);
  free(slowest);
  MPI_Finalize();
  return 0;
}
