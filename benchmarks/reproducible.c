// SPDX-License-Identifier: BSD-3-Clause
// What reproducible reductions cost (A11, section 2.6). The same calls are made in three ways that alternate
// in one run. Two are on communicators under Unisono, one of which has the info key unisono_reproducible. The
// third is by the host MPI itself. benchmarks/reproducible.py compiles and starts it.
//
//   reproducible SAMPLES SECONDS BYTES...
//
// A sample is a batch of calls, timed as a whole, divided by their number: the time of the longest rank. Rank
// 0 prints for each operation and size one JSON object: {"operation","bytes","ranks","mpi_s":[...],
// "plain_s":[...],"reproducible_s":[...]}. Sizes are of the vector, or of one rank's block
// (reduce_scatter_block).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ways = 3, most_samples = 1000, most_batch = 2000 };

static int rank, size;
static double *input, *output;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*Run)(int count, MPI_Comm comm);
static void run_reduce(int count, MPI_Comm comm) {
  MPI_Reduce(input, output, count, MPI_DOUBLE, MPI_SUM, 0, comm);
}
static void run_allreduce(int count, MPI_Comm comm) {
  MPI_Allreduce(input, output, count, MPI_DOUBLE, MPI_SUM, comm);
}
static void run_reduce_scatter_block(int count, MPI_Comm comm) {
  MPI_Reduce_scatter_block(input, output, count, MPI_DOUBLE, MPI_SUM, comm);
}
static void run_scan(int count, MPI_Comm comm) {
  MPI_Scan(input, output, count, MPI_DOUBLE, MPI_SUM, comm);
}
static const struct {
  const char* name;
  Run run;
} operations[] = {{"allreduce", run_allreduce},
                  {"reduce", run_reduce},
                  {"reduce_scatter_block", run_reduce_scatter_block},
                  {"scan", run_scan}};

// Seconds of a call, of the longest rank.
static double time_batch(Run run, int count, MPI_Comm comm, int batch) {
  run(count, comm);
  MPI_Barrier(comm);
  const double start_s = now_s();
  for (int i = 0; i < batch; ++i) run(count, comm);
  double own_s = (now_s() - start_s) / batch, longest_s = 0;
  MPI_Allreduce(&own_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, comm);
  return longest_s;
}

static void print_samples(const char* name, const double* samples, int count) {
  printf(",\"%s\":[", name);
  for (int i = 0; i < count; ++i) printf("%s%.9g", i == 0 ? "" : ",", samples[i]);
  printf("]");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int (*set_enabled)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  if (argc < 4 || set_enabled == NULL) {
    if (rank == 0) fprintf(stderr, "usage, under unisono run: reproducible SAMPLES SECONDS BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int wanted = atoi(argv[1]);
  if (wanted > most_samples) wanted = most_samples;
  const double most_s = atof(argv[2]);
  MPI_Info info;
  MPI_Comm plain, reproducible;
  MPI_Info_create(&info);
  MPI_Comm_dup(MPI_COMM_WORLD, &plain);
  MPI_Info_set(info, "unisono_reproducible", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &reproducible);
  MPI_Info_free(&info);
  size_t most = 0;
  for (int i = 3; i < argc; ++i) most = (size_t)atol(argv[i]) > most ? (size_t)atol(argv[i]) : most;
  input = malloc(most * (size_t)size + sizeof(double));
  output = malloc(most * (size_t)size + sizeof(double));
  for (size_t i = 0; i < most / sizeof(double) * (size_t)size; ++i)
    input[i] = 1.0 / (double)(i + 1 + (size_t)rank);
  const MPI_Comm comms[ways] = {plain, plain, reproducible};
  static double samples[ways][most_samples];
  for (size_t o = 0; o < sizeof operations / sizeof operations[0]; ++o) {
    for (int a = 3; a < argc; ++a) {
      const int count = (int)(atol(argv[a]) / (long)sizeof(double));
      int batch = 1, taken = 0;
      // A batch takes about a millisecond, the same on all ranks.
      double call_s = time_batch(operations[o].run, count, plain, 3);
      if (call_s < 1e-3) batch = (int)(1e-3 / (call_s + 1e-9));
      if (batch < 1) batch = 1;
      if (batch > most_batch) batch = most_batch;
      const double start_s = now_s();
      for (int go_on = 1; go_on && taken < wanted; ++taken) {
        for (int turn = 0; turn < ways; ++turn) {
          // Who comes first changes.
          const int way = (turn + taken) % ways;
          if (way == 0) set_enabled(0);
          samples[way][taken] = time_batch(operations[o].run, count, comms[way], batch);
          if (way == 0) set_enabled(1);
        }
        go_on = now_s() - start_s < most_s;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, plain);
      }
      if (rank != 0) continue;
      printf("{\"operation\":\"%s\",\"bytes\":%s,\"ranks\":%d", operations[o].name, argv[a], size);
      print_samples("mpi_s", samples[0], taken);
      print_samples("plain_s", samples[1], taken);
      print_samples("reproducible_s", samples[2], taken);
      printf("}\n");
      fflush(stdout);
    }
  }
  MPI_Comm_free(&plain);
  MPI_Comm_free(&reproducible);
  free(input);
  free(output);
  MPI_Finalize();
  return 0;
}
