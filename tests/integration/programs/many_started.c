// SPDX-License-Identifier: BSD-3-Clause
// Several calls at a time on two communicators, started and awaited in turn; each result is looked at.
//   many_started SECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most_elements = 500, calls_of_a_round = 12 };

struct Call {
  int kind, root, count, number;
  double in[most_elements], out[most_elements];
};

static unsigned long long state = 12345;
static int rank, size;

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)below);
}

static double given(const struct Call* call, int by, int i) {
  return 7 * call->number % 1000 + 3 * by + i;
}

// The same on all ranks, but for what each brings.
static void begin(struct Call* call, int number, MPI_Comm comm, MPI_Request* request) {
  call->kind = draw(4);
  call->root = draw(size);
  call->count = draw(3) == 0 ? most_elements : 1 + draw(8);
  call->number = number;
  for (int i = 0; i < call->count; ++i) call->out[i] = call->in[i] = given(call, rank, i);
  if (call->kind == 0) MPI_Iallreduce(call->in, call->out, call->count, MPI_DOUBLE, MPI_SUM, comm, request);
  if (call->kind == 1) MPI_Ibcast(call->out, call->count, MPI_DOUBLE, call->root, comm, request);
  if (call->kind == 2)
    MPI_Ireduce(call->in, call->out, call->count, MPI_DOUBLE, MPI_SUM, call->root, comm, request);
  if (call->kind == 3) MPI_Ibarrier(comm, request);
}

static void check(const struct Call* call) {
  for (int i = 0; i < call->count; ++i) {
    double expected = call->in[i];
    if (call->kind == 1) expected = given(call, call->root, i);
    if (call->kind == 0 || (call->kind == 2 && rank == call->root)) {
      expected = 0;
      for (int by = 0; by < size; ++by) expected += given(call, by, i);
    }
    if (call->out[i] == expected) continue;
    fprintf(stderr, "rank %d, call %d of kind %d: %f instead of %f\n", rank, call->number, call->kind,
            call->out[i], expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  static struct Call calls[calls_of_a_round];
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const struct timespec nap = {0, 200000};
  MPI_Comm comms[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  const double end = MPI_Wtime() + seconds;
  int number = 0;
  for (int goes_on = 1; goes_on;) {
    MPI_Request requests[calls_of_a_round];
    const int count = 1 + draw(calls_of_a_round);
    for (int i = 0; i < count; ++i) begin(&calls[i], number++, comms[draw(2)], &requests[i]);
    if (draw(4) == rank % 4) nanosleep(&nap, NULL);
    for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) check(&calls[i]);
    if (number / 300 != (number - count) / 300) {
      goes_on = MPI_Wtime() < end;
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("OK, %d calls\n", number);
  MPI_Comm_free(&comms[1]);
  MPI_Finalize();
  return 0;
}
