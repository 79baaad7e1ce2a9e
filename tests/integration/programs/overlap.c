// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block, with MPI_THREAD_SINGLE: each is started, the rank sleeps, and then waits for it.
// Rank 0 prints the median of what was left to wait, in microseconds.
//   overlap CALLS SLEEP_US
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most_calls = 10000, count = 4 };

static int ascending(const void* first, const void* second) {
  const double a = *(const double*)first, b = *(const double*)second;
  return (a > b) - (a < b);
}

static void fail(int call, const char* what) {
  fprintf(stderr, "call %d: %s\n", call, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// An allreduce, a broadcast, a reduce and a barrier in turn.
static void begin(int call, int size, double* in, double* out, MPI_Request* request) {
  const int root = call % size;
  switch (call % 4) {
    case 0:
      MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
      return;
    case 1:
      MPI_Ibcast(out, count, MPI_DOUBLE, root, MPI_COMM_WORLD, request);
      return;
    case 2:
      MPI_Ireduce(in, out, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD, request);
      return;
    default:
      MPI_Ibarrier(MPI_COMM_WORLD, request);
  }
}

static double expected(int call, int rank, int size, int i, double before) {
  const int root = call % size;
  const double base = call + i;
  switch (call % 4) {
    case 0:
      return size * base + size * (size - 1) / 2.0;
    case 1:
      return base + root;
    case 2:
      return rank == root ? base + size - 1 : before;
    default:
      return before;
  }
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  static double left[most_calls];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  const long sleep_us = argc > 2 ? atol(argv[2]) : 300;
  const struct timespec time = {0, sleep_us * 1000};
  for (int call = 0; call < calls && call < most_calls; ++call) {
    double in[count], out[count];
    for (int i = 0; i < count; ++i) out[i] = in[i] = call + i + rank;
    MPI_Request request = MPI_REQUEST_NULL;
    begin(call, size, in, out, &request);
    nanosleep(&time, NULL);
    const double before = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    left[call] = (MPI_Wtime() - before) * 1e6;
    for (int i = 0; i < count; ++i) {
      if (out[i] != expected(call, rank, size, i, in[i])) fail(call, "a wrong result");
    }
  }
  qsort(left, (size_t)calls, sizeof *left, ascending);
  if (rank == 0) printf("OK, left to wait: %.2f us\n", left[calls / 2]);
  MPI_Finalize();
  return 0;
}
