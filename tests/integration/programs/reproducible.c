// SPDX-License-Identifier: BSD-3-Clause
// Reductions of inputs whose exponents lie far apart, so that nearly every order of evaluation gives other
// bits. Prints "HASH h DIFFERENCES d". The hash is of all results of all ranks. The differences are how many
// elements of float32 and float64 sums are not what the documented order gives (docs/guide/reproducible.md),
// computed here once more. Each argument is a run of its own, with a line of its own (none: "plain"):
// - "hint" asks by the info key on a duplicate of MPI_COMM_WORLD ("true", or VALUE of "hint=VALUE").
// - "set" asks by MPI_Comm_set_info on it.
// - "short" leaves out products, complex numbers and the longest vectors.
// - "force=ALGORITHMS" asks with these algorithms from now on.
// - "apart" calls nothing in place: MPICH 4 crashes in its own MPI_Reduce in place at another root than 0.
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Only where the program runs under Unisono.
#pragma weak unisono_set_algorithm
int unisono_set_algorithm(const char* text);

static int rank, size;
static MPI_Comm comm;
static const uint64_t first_hash = 1469598103934665603u;
static uint64_t hash;
static long differences;

static double number(int of_rank, int i) {
  uint64_t mixed = ((uint64_t)of_rank * 7919 + (uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
  int exponent = ((int)(mixed >> 58) - 32) / 2;
  double fraction = 1.0 + (double)(mixed >> 8 & 0xFFFFFFFFu) / 4294967296.0;
  return ldexp((mixed & 1) != 0 ? fraction : -fraction, exponent);
}

static void take(const void* data, size_t bytes) {
  const unsigned char* byte = data;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 1099511628211u;
}

// The first `count` ranks' operands of element i, joined as documented. Those of a scan are joined from the
// left. All others are joined in pairs of neighbours as far as they leave a power of two, and then in pairs
// again and again.
#define DEFINE_WANTED(T)                                                            \
  static T wanted_##T(int count, int i, int is_scan) {                              \
    T values[64];                                                                   \
    for (int r = 0; r < count; ++r) values[r] = (T)number(r, i);                    \
    int members = 1;                                                                \
    while (2 * members <= count) members *= 2;                                      \
    int pairs = count - members;                                                    \
    for (int left = count; left > 1; pairs = left / 2) {                            \
      if (is_scan) pairs = 1;                                                       \
      for (int p = 0; p < pairs; ++p) {                                             \
        volatile T sum = values[2 * p] + values[2 * p + 1];                         \
        values[p] = sum;                                                            \
      }                                                                             \
      for (int k = 2 * pairs; k < left; ++k) values[k - pairs] = values[k];         \
      left -= pairs;                                                                \
    }                                                                               \
    return values[0];                                                               \
  }                                                                                 \
  static void compare_##T(const T* got, int n, int first, int count, int is_scan) { \
    for (int i = 0; i < n; ++i) {                                                   \
      T wanted = wanted_##T(count, first + i, is_scan);                             \
      differences += memcmp(&wanted, &got[i], sizeof wanted) != 0;                  \
    }                                                                               \
  }
DEFINE_WANTED(float)
DEFINE_WANTED(double)

typedef struct {
  MPI_Datatype type;
  int reals;     // real numbers in an element
  size_t bytes;  // of one of them
  MPI_Op op;
} Kind;

static void fill(const Kind* kind, void* data, int elements) {
  for (int i = 0; i < elements * kind->reals; ++i) {
    if (kind->bytes == sizeof(float)) {
      ((float*)data)[i] = (float)number(rank, i);
    } else {
      ((double*)data)[i] = number(rank, i);
    }
  }
}

static void judge(const Kind* kind, const void* data, int elements, int first, int ranks, int is_scan) {
  const int reals = elements * kind->reals;
  take(data, (size_t)reals * kind->bytes);
  if (kind->op != MPI_SUM) return;
  if (kind->bytes == sizeof(float)) {
    compare_float(data, reals, first * kind->reals, ranks, is_scan);
  } else {
    compare_double(data, reals, first * kind->reals, ranks, is_scan);
  }
}

static void run(const Kind* kind, int n, int is_in_place) {
  const size_t element = kind->bytes * (size_t)kind->reals;
  char* in = malloc(element * (size_t)(n * size));
  char* out = malloc(element * (size_t)(n * size));
  int counts[64];
  fill(kind, in, n * size);
#define BEGIN memcpy(out, in, element*(size_t)(n * size))
#define INPUT (is_in_place ? MPI_IN_PLACE : (void*)in)
  for (int turn = 0; turn < 2; ++turn) {
    const int root = turn == 0 ? 0 : size - 1;
    BEGIN;
    MPI_Reduce(is_in_place && rank == root ? MPI_IN_PLACE : in, out, n, kind->type, kind->op, root, comm);
    if (rank == root) judge(kind, out, n, 0, size, 0);
  }
  BEGIN;
  MPI_Allreduce(INPUT, out, n, kind->type, kind->op, comm);
  judge(kind, out, n, 0, size, 0);
  BEGIN;
  MPI_Reduce_scatter_block(INPUT, out, n, kind->type, kind->op, comm);
  judge(kind, out, n, rank * n, size, 0);
  // In all as many elements as there are, of uneven lengths.
  int first = 0;
  for (int r = 0; r < size; ++r) counts[r] = n - n / 2 + (r % 2 == 0 ? n / 3 : 0);
  for (int r = 0; r < rank; ++r) first += counts[r];
  BEGIN;
  MPI_Reduce_scatter(INPUT, out, counts, kind->type, kind->op, comm);
  judge(kind, out, counts[rank], first, size, 0);
  BEGIN;
  MPI_Scan(INPUT, out, n, kind->type, kind->op, comm);
  judge(kind, out, n, 0, rank + 1, 1);
  BEGIN;
  MPI_Exscan(INPUT, out, n, kind->type, kind->op, comm);
  if (rank > 0) judge(kind, out, n, 0, rank, 1);
  free(in);
  free(out);
}

static int begins_with(const char* text, const char* begin) {
  return strncmp(text, begin, strlen(begin)) == 0;
}

static void ask(const char* how) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "unisono_reproducible", begins_with(how, "hint=") ? how + strlen("hint=") : "true");
  if (begins_with(how, "hint")) MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  if (strcmp(how, "set") == 0) {
    // The communicator is in use before it gets the hint.
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_set_info(comm, info);
  }
  MPI_Info_free(&info);
}

static void run_all(int is_short, int has_in_place) {
  const Kind kinds[] = {
      {MPI_DOUBLE, 1, sizeof(double), MPI_SUM},           {MPI_FLOAT, 1, sizeof(float), MPI_SUM},
      {MPI_C_DOUBLE_COMPLEX, 2, sizeof(double), MPI_SUM}, {MPI_C_FLOAT_COMPLEX, 2, sizeof(float), MPI_SUM},
      {MPI_DOUBLE, 1, sizeof(double), MPI_PROD},          {MPI_FLOAT, 1, sizeof(float), MPI_PROD},
      {MPI_C_DOUBLE_COMPLEX, 2, sizeof(double), MPI_PROD}};
  const int counts[] = {1, 3, 61, 1000, 20000};
  for (size_t k = 0; k < (is_short ? 2 : sizeof kinds / sizeof kinds[0]); ++k) {
    for (size_t c = 0; c < (is_short ? 4 : sizeof counts / sizeof counts[0]); ++c) {
      for (int is_in_place = 0; is_in_place < (has_in_place ? 2 : 1); ++is_in_place)
        run(&kinds[k], counts[c], is_in_place);
    }
  }
}

static void run_as(const char* how) {
  const int is_forced = begins_with(how, "force=");
  comm = MPI_COMM_WORLD;
  hash = first_hash;
  differences = 0;
  ask(how);
  if (is_forced && (unisono_set_algorithm == NULL || unisono_set_algorithm(how + strlen("force=")) != 0)) {
    fprintf(stderr, "cannot be told to run %s\n", how);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  run_all(is_forced || strcmp(how, "short") == 0, strcmp(how, "apart") != 0);
  uint64_t hashes[64] = {0};
  long all_differences = 0;
  MPI_Gather(&hash, 1, MPI_UINT64_T, hashes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Reduce(&differences, &all_differences, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    hash = first_hash;
    take(hashes, sizeof hashes);
    printf("HASH %016llx DIFFERENCES %ld\n", (unsigned long long)hash, all_differences);
  }
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 1) run_as("plain");
  for (int i = 1; i < argc; ++i) run_as(argv[i]);
  MPI_Finalize();
  return 0;
}
