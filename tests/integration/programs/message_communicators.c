// SPDX-License-Identifier: BSD-3-Clause
// Two threads of each rank make communicators of the same ranks at the same time, and send in them.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { threads = 2, turns = 300 };

static int rank, size;
static MPI_Comm base[threads];
static atomic_int wrong;

static void* make_and_use(void* number) {
  const int thread = (int)(intptr_t)number;
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(base[thread], &comm);
    const int before = (rank + size - 1) % size;
    const int sent = (turn * size + rank) * threads + thread;
    int got = -1;
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, before, 1, comm,
                 MPI_STATUS_IGNORE);
    if (got != (turn * size + before) * threads + thread) ++wrong;
    MPI_Comm_free(&comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (level == MPI_THREAD_MULTIPLE) {
    pthread_t other;
    for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &base[i]);
    pthread_create(&other, NULL, make_and_use, (void*)(intptr_t)1);
    make_and_use(NULL);
    pthread_join(other, NULL);
    for (int i = 0; i < threads; ++i) MPI_Comm_free(&base[i]);
  }
  int own = wrong, all = 0;
  MPI_Reduce(&own, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    if (all != 0) printf("%d wrong\n", all);
    puts(level != MPI_THREAD_MULTIPLE ? "LEVEL" : all == 0 ? "OK" : "WRONG");
  }
  MPI_Finalize();
  return 0;
}
