// SPDX-License-Identifier: BSD-3-Clause
// What a call costs that Unisono does not take. Compile with any MPI's compiler wrapper, run one process
// under Unisono:
//     mpicc -O2 benchmarks/entry_overhead.c -o entry_overhead -ldl && unisono run ./entry_overhead
// Calls on MPI_COMM_SELF by name (jump, wrapper, host) and by the host's own pointer (host) take turns in
// batches; the figure is the median of the differences, with the quartiles. `off`: unisono_set_enabled(0);
// `on`: the runtime is asked, and leaves the call to the host.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { batches = 301, calls_a_batch = 2000 };

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

static void measure(const char* operation, const char* state, void (*call)(int)) {
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
  printf("%-10s %-4s host %7.1f ns   added %6.1f ns   (quartiles %.1f to %.1f)\n", operation, state,
         host[batches / 2], difference[batches / 2], difference[batches / 4], difference[3 * batches / 4]);
}

// The MPI library's own handle: its functions are found there whatever is preloaded.
static int find_host(struct dl_phdr_info* object, size_t size, void* result) {
  (void)size;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* file = slash == NULL ? object->dlpi_name : slash + 1;
  if (strncmp(file, "libmpi.so", 9) != 0 && strncmp(file, "libmpich.so", 11) != 0 &&
      strncmp(file, "libmpi_abi.so", 13) != 0) {
    return 0;
  }
  strncpy(result, object->dlpi_name, 4095);
  return 1;
}

int main(int argc, char** argv) {
  char path[4096] = "";
  MPI_Init(&argc, &argv);
  dl_iterate_phdr(find_host, path);
  void* host = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
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
    const char* state = is_enabled ? "on" : "off";
    measure("barrier", state, call_barrier);
    measure("bcast", state, call_bcast);
    measure("allreduce", state, call_allreduce);
  }
  MPI_Finalize();
  return 0;
}
