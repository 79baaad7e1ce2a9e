// SPDX-License-Identifier: BSD-3-Clause
// One operation as a first benchmark of it is written. It takes sizes upwards, and makes some hundred calls
// of each, on data of MPI_CHAR. Every call is timed by itself, with a barrier behind it. Nothing is warmed
// but by the first calls of each size, which are not counted:
//     first_look OPERATION FROM TO CALLS
// Sizes double from FROM to TO bytes (of a block where each rank has its own). Of each there are CALLS calls,
// a tenth of them above 8 KiB. Rank 0 prints a JSON object. By size it has the mean and the median of a
// call's time, each as the mean over the ranks.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large_bytes = 8 << 10, uncounted_part = 5 };

static char *input, *output;
static int rank, size;

static void run_allreduce(int bytes) {
  MPI_Allreduce(input, output, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
}
static void run_reduce(int bytes) {
  MPI_Reduce(input, output, bytes, MPI_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void run_bcast(int bytes) {
  MPI_Bcast(input, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void run_gather(int bytes) {
  MPI_Gather(input, bytes, MPI_CHAR, output, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void run_allgather(int bytes) {
  MPI_Allgather(input, bytes, MPI_CHAR, output, bytes, MPI_CHAR, MPI_COMM_WORLD);
}
static void run_alltoall(int bytes) {
  MPI_Alltoall(input, bytes, MPI_CHAR, output, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static const struct Kind {
  const char* name;
  void (*run)(int bytes);
} kinds[] = {{"allreduce", run_allreduce}, {"reduce", run_reduce},       {"bcast", run_bcast},
             {"gather", run_gather},       {"allgather", run_allgather}, {"alltoall", run_alltoall}};

static const struct Kind* find_kind(const char* name) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  }
  return NULL;
}

static int by_value(const void* left, const void* right) {
  const double l = *(const double*)left, r = *(const double*)right;
  return l < r ? -1 : l > r;
}

struct Time {
  double mean, median;
};

// Of a call on this rank. `seconds` has room for all of them.
static struct Time measured(const struct Kind* kind, int bytes, int calls, double* seconds) {
  const int uncounted = calls / uncounted_part + 1;
  double sum = 0;
  for (int i = -uncounted; i < calls; ++i) {
    const double start = MPI_Wtime();
    kind->run(bytes);
    const double taken = MPI_Wtime() - start;
    if (i >= 0) seconds[i] = taken, sum += taken;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  qsort(seconds, (size_t)calls, sizeof *seconds, by_value);
  return (struct Time){sum / calls, seconds[calls / 2]};
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const struct Kind* kind = find_kind(argv[1]);
  const int from = atoi(argv[2]), to = atoi(argv[3]), calls = atoi(argv[4]);
  if (kind == NULL || from < 1 || to < from || calls < 1) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t room = (size_t)to * (size_t)size;
  input = malloc(room);
  output = malloc(room);
  double* seconds = malloc((size_t)calls * sizeof *seconds);
  if (input == NULL || output == NULL || seconds == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(input, 1, room);
  memset(output, 0, room);
  if (rank == 0) printf("{");
  for (long bytes = from; bytes <= to; bytes *= 2) {
    const int count = bytes > large_bytes ? (calls + 9) / 10 : calls;
    const struct Time own = measured(kind, (int)bytes, count, seconds);
    struct Time sum = {0, 0};
    MPI_Reduce(&own, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) continue;
    printf("%s\"%ld\": {\"mean\": %.5g, \"median\": %.5g}", bytes == from ? "" : ", ", bytes, sum.mean / size,
           sum.median / size);
  }
  if (rank == 0) puts("}");
  free(seconds);
  free(input);
  free(output);
  MPI_Finalize();
  return 0;
}
