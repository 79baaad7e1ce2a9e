// SPDX-License-Identifier: BSD-3-Clause
// What is left to wait of an allreduce that was started before its ranks slept (agents.py):
//   agents CALLS SLEEP_US
// With MPI_THREAD_SINGLE; results are checked. Prints times for each call, in seconds, each the longest
// rank's. First the start, and the wait behind the sleep. Then a wait for a receive whose message was there
// before the sleep, and a blocking allreduce behind a sleep. Then an MPI_Iallreduce that is awaited at once,
// behind a sleep and right after that. Last one of several that are under way together, of MPI_Ibcast and of
// MPI_Iallreduce.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { count = 4, together = 64 };
enum { start, left, there, blocking, woken, awake, bcasts, allreduces, columns };

static void check(const double* got, int call, int size) {
  for (int i = 0; i < count; ++i) {
    if (got[i] == size * (double)(call + i) + size * (size - 1) / 2.0) continue;
    fprintf(stderr, "call %d: a wrong result\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void begin(int is_bcast, double* in, double* out, MPI_Request* request) {
  if (is_bcast) {
    MPI_Ibcast(out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, request);
  } else {
    MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
  }
}

// Seconds for each of so many calls, started one after the other and then awaited.
static double many(int is_bcast, int calls) {
  static double in[together][count], out[together][count];
  MPI_Request requests[together];
  const double since = MPI_Wtime();
  for (int i = 0; i < calls; ++i) begin(is_bcast, in[i], out[i], &requests[i]);
  MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
  return (MPI_Wtime() - since) / calls;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  const long sleep_ns = 1000 * (argc > 2 ? atol(argv[2]) : 300);
  const struct timespec time = {sleep_ns / 1000000000, sleep_ns % 1000000000};
  for (int call = 0; call < calls; ++call) {
    double in[count], out[count] = {0}, took[columns] = {0}, longest[columns];
    for (int i = 0; i < count; ++i) in[i] = call + i + rank;
    MPI_Request request;

    MPI_Barrier(MPI_COMM_WORLD);
    double since = MPI_Wtime();
    MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    took[start] = MPI_Wtime() - since;
    nanosleep(&time, NULL);
    since = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took[left] = MPI_Wtime() - since;
    check(out, call, size);

    int message = call, got = -1;
    MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&message, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    nanosleep(&time, NULL);
    since = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took[there] = MPI_Wtime() - since;
    if (got != call) MPI_Abort(MPI_COMM_WORLD, 1);

    nanosleep(&time, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    since = MPI_Wtime();
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    took[blocking] = MPI_Wtime() - since;
    check(out, call, size);

    nanosleep(&time, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    took[woken] = many(0, 1);
    took[awake] = many(0, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    took[bcasts] = many(1, together);
    MPI_Barrier(MPI_COMM_WORLD);
    took[allreduces] = many(0, together);

    MPI_Reduce(took, longest, columns, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0 || call < calls / 10) continue;
    for (int i = 0; i < columns; ++i) printf("%.9f%c", longest[i], i + 1 < columns ? ' ' : '\n');
  }
  MPI_Finalize();
  return 0;
}
