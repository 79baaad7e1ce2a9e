// SPDX-License-Identifier: BSD-3-Clause
// What a call costs that the profile counts (option profile). Compile with any MPI's compiler wrapper, run
// one process with and without a profile:
//     mpicc -O2 benchmarks/profile_cost.c -o profile_cost -ldl
//     unisono profile -- ./profile_cost ; ./profile_cost
// Calls by name (counted, where there is a profile) and by the host's own pointer (never counted) take turns
// in batches. The figure is the median of the differences, with the quartiles.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { batches = 301, calls_a_batch = 2000 };

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

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double nanoseconds_a_call(void (*call)(int), int by_name) {
  const double before = seconds();
  for (int i = 0; i < calls_a_batch; ++i) call(by_name);
  return 1e9 * (seconds() - before) / calls_a_batch;
}

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one;
  const double b = *(const double*)other;
  return (a > b) - (a < b);
}

static void measure(const char* name, void (*call)(int)) {
  static double host[batches];
  static double difference[batches];
  for (int i = 0; i < batches; ++i) {
    const int first = i % 2;
    const double one = nanoseconds_a_call(call, first);
    const double other = nanoseconds_a_call(call, 1 - first);
    host[i] = first == 0 ? one : other;
    difference[i] = first == 0 ? other - one : one - other;
  }
  qsort(host, batches, sizeof *host, ascending);
  qsort(difference, batches, sizeof *difference, ascending);
  printf("%-13s host %7.1f ns   added %6.1f ns   (quartiles %.1f to %.1f)\n", name, host[batches / 2],
         difference[batches / 2], difference[batches / 4], difference[3 * batches / 4]);
}

static int find_mpi(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* file = slash == NULL ? object->dlpi_name : slash + 1;
  if (strncmp(file, "libmpi.so", 9) != 0 && strncmp(file, "libmpich.so", 11) != 0) return 0;
  mpi = dlopen(object->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
  return mpi != NULL;
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
  if (!dl_iterate_phdr(find_mpi, NULL)) {
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
