// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each rank run collectives at the same time, each on its own
// communicator. Prints "SKIP" when the MPI does not provide that level.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { thread_count = 4, turns = 40, elements = 600 };

static int rank, size;
static MPI_Comm comms[thread_count];

static void expect(int is_right, const char* what, int thread, int turn) {
  if (is_right) return;
  fprintf(stderr, "rank %d, thread %d, turn %d: %s is wrong\n", rank, thread, turn, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void run_turn(MPI_Comm comm, int thread, int turn) {
  int values[elements], sums[elements];
  int* all = (int*)malloc((size_t)size * sizeof *all);
  const int length = turn % 2 ? elements : 1, base = 1000 * thread + turn, root = (thread + turn) % size;
  for (int i = 0; i < length; ++i) values[i] = base + rank + i;
  MPI_Allreduce(values, sums, length, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < length; ++i) {
    expect(sums[i] == size * (base + i) + size * (size - 1) / 2, "allreduce", thread, turn);
  }
  values[0] = rank == root ? base : -1;
  MPI_Bcast(values, length, MPI_INT, root, comm);
  expect(values[0] == base, "bcast", thread, turn);
  values[0] = base + rank;
  MPI_Allgather(values, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; ++i) expect(all[i] == base + i, "allgather", thread, turn);
  MPI_Barrier(comm);
  free(all);
}

static void* run_thread(void* argument) {
  const int thread = (int)(intptr_t)argument;
  // Threads meet their communicators in another order on every rank.
  usleep((useconds_t)(1000 * ((thread + rank) % thread_count)));
  for (int turn = 0; turn < turns; ++turn) run_turn(comms[thread], thread, turn);
  return NULL;
}

int main(int argument_count, char** arguments) {
  int provided;
  pthread_t threads[thread_count];
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) puts("SKIP");
    MPI_Finalize();
    return 0;
  }
  for (int i = 0; i < thread_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run_thread, (void*)(intptr_t)i);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) puts("OK");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
