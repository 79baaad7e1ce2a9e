// SPDX-License-Identifier: BSD-3-Clause
// What a call costs that Unisono does not take. Compile with any MPI's compiler wrapper, run one process
// under Unisono:
//     mpicc -O2 benchmarks/entry_overhead.c -o entry_overhead -ldl && unisono run ./entry_overhead
// Calls on MPI_COMM_SELF by name (jump, wrapper, host) and by the host's own pointer (host) take turns in
// batches; the figure is the median of the differences, with the quartiles. `off`: unisono_set_enabled(0);
// `on`: the runtime is asked, and leaves the call to the host.
#define _GNU_SOURCE
#include <mpi.h>

#include "host_calls.h"

typedef int (*Barrier)(MPI_Comm);
typedef int (*Bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
typedef int (*Allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static Barrier barrier[2];
static Bcast bcast[2];
static Allreduce allreduce[2];

static void call_barrier(int by_name) {
  barrier[by_name](MPI_COMM_SELF);
}

static void call_bcast(int by_name) {
  static double value;
  bcast[by_name](&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF);
}

static void call_allreduce(int by_name) {
  static double in = 1;
  static double out;
  allreduce[by_name](&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* host = host_library();
  int (*set_enabled)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  if (host == NULL || set_enabled == NULL) {
    fprintf(stderr, "entry_overhead: run this under Unisono\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  barrier[0] = (Barrier)dlsym(host, "PMPI_Barrier");
  barrier[1] = MPI_Barrier;
  bcast[0] = (Bcast)dlsym(host, "PMPI_Bcast");
  bcast[1] = MPI_Bcast;
  allreduce[0] = (Allreduce)dlsym(host, "PMPI_Allreduce");
  allreduce[1] = MPI_Allreduce;
  for (int is_enabled = 0; is_enabled < 2; ++is_enabled) {
    set_enabled(is_enabled);
    measure(is_enabled ? "barrier on" : "barrier off", call_barrier);
    measure(is_enabled ? "bcast on" : "bcast off", call_bcast);
    measure(is_enabled ? "allreduce on" : "allreduce off", call_allreduce);
  }
  MPI_Finalize();
  return 0;
}
