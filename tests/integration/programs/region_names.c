// SPDX-License-Identifier: BSD-3-Clause
// Regions with names as no one would choose them: one of a megabyte, one that steers terminals, more than
// anybody keeps apart. Prints "RIGHT" where all results are right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unisono/unisono.h"

enum { calls = 120, regions = 1100, long_bytes = 1100000 };

static int rank, size, wrong;

static void allreduces(const char* region, int count) {
  MPI_Pcontrol(UNISONO_PCONTROL_BEGIN, region);
  for (int i = 0; i < count; ++i) {
    long in = rank + i, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (out != (long)size * (size - 1) / 2 + (long)size * i) ++wrong;
  }
  MPI_Pcontrol(UNISONO_PCONTROL_END);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* name = malloc(long_bytes + 1);
  memset(name, 'x', long_bytes);
  name[long_bytes] = '\0';
  // Two that differ at their ends alone.
  allreduces(name, calls);
  name[long_bytes - 1] = 'y';
  allreduces(name, calls);
  allreduces("\033]0;title\007\033[2J", calls);
  for (int i = 0; i < regions; ++i) {
    char step[32];
    snprintf(step, sizeof step, "step %d", i);
    allreduces(step, 2);
  }
  free(name);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "RIGHT" : "WRONG");
  MPI_Finalize();
  return 0;
}
