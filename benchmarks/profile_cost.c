// SPDX-License-Identifier: BSD-3-Clause
// What a call costs that the profile counts (option profile). Compile with any MPI's compiler wrapper, run
// one process with and without a profile:
//     mpicc -O2 benchmarks/profile_cost.c -o profile_cost -ldl
//     unisono profile -- ./profile_cost ; ./profile_cost
// Calls by name (counted, where there is a profile) and by the host's own pointer (never counted) take turns
// in batches. The figure is the median of the differences, with the quartiles.
#define _GNU_SOURCE
#include <mpi.h>

#include "host_calls.h"

static void* mpi;
static int (*host_rank)(MPI_Comm, int*);
static int (*host_probe)(int, int, MPI_Comm, int*, MPI_Status*);
static int (*host_send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
static int (*host_exchange)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                            MPI_Comm, MPI_Status*);

static void rank(int by_name) {
  int found = 0;
  by_name ? MPI_Comm_rank(MPI_COMM_WORLD, &found) : host_rank(MPI_COMM_WORLD, &found);
}

static void probe(int by_name) {
  int flag = 0;
  by_name ? MPI_Iprobe(0, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)
          : host_probe(0, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

// To nobody: the shortest call that has bytes.
static void send(int by_name) {
  double value = 1;
  by_name ? MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
          : host_send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void exchange(int by_name) {
  double out = 1, in = 0;
  by_name
      ? MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 1, &in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
      : host_exchange(&out, 1, MPI_DOUBLE, 0, 1, &in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void find(const char* name, void* pointer) {
  void* found = dlsym(mpi, name);
  if (found == NULL) {
    fprintf(stderr, "the MPI has no %s\n", name);
    exit(1);
  }
  memcpy(pointer, &found, sizeof found);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  mpi = host_library();
  if (mpi == NULL) {
    fputs("no MPI library is to be found\n", stderr);
    return 1;
  }
  find("PMPI_Comm_rank", &host_rank);
  find("PMPI_Iprobe", &host_probe);
  find("PMPI_Send", &host_send);
  find("PMPI_Sendrecv", &host_exchange);
  measure("MPI_Comm_rank", rank);
  measure("MPI_Iprobe", probe);
  measure("MPI_Send", send);
  measure("MPI_Sendrecv", exchange);
  MPI_Finalize();
  return 0;
}
