// SPDX-License-Identifier: BSD-3-Clause
// Many calls of few kinds, in two regions and outside, checked by the program; prints "RIGHT" where all
// results are right. Ranks come late in turns.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "unisono/unisono.h"

enum { count = 3000, rounds = 60 };

static int rank, size, wrong;
static long in[count], out[count];

static void expect(int is_right, const char* what) {
  if (!is_right && wrong++ < 5) fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
}

static void allreduce(int n) {
  for (int i = 0; i < n; ++i) in[i] = rank + i;
  MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) expect(out[i] == (long)size * (size - 1) / 2 + (long)size * i, "allreduce");
}

static void bcast(int n, int root) {
  for (int i = 0; i < n; ++i) out[i] = rank == root ? root + i : -1;
  MPI_Bcast(out, n, MPI_LONG, root, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) expect(out[i] == root + i, "bcast");
}

static void iallreduce(int n) {
  MPI_Request request;
  for (int i = 0; i < n; ++i) in[i] = rank;
  MPI_Iallreduce(in, out, n, MPI_LONG, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) expect(out[i] == size - 1, "iallreduce");
}

static void come_late(int round) {
  volatile long spent = 0;
  for (long i = 0; round % size == rank && i < 20000; ++i) ++spent;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    come_late(round);
    if (unisono_region_begin) unisono_region_begin("first");
    for (int i = 0; i < 6; ++i) allreduce(1);
    if (unisono_region_end) unisono_region_end();
    MPI_Pcontrol(UNISONO_PCONTROL_BEGIN, "second");
    for (int i = 0; i < 4; ++i) allreduce(count);
    bcast(count, round % size);
    MPI_Pcontrol(UNISONO_PCONTROL_END);
    iallreduce(count);
    MPI_Pcontrol(1);  // no region: the tools'
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all_wrong == 0 ? "RIGHT\n" : "WRONG %d\n", all_wrong);
  MPI_Finalize();
  return 0;
}
