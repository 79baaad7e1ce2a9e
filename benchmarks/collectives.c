// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the host MPI and of Unisono side by side, alternating in one run (A11, section 2.6).
// `unisono bench` compiles and starts it.
//
//   collectives [--operations a,b] [--sizes 8,1024] [--samples N] [--seconds S] [--skip-verify]
//
// A sample is a batch of calls, timed as a whole, divided by their number: the time of the longest rank.
// Batches of native and Unisono alternate; a barrier precedes each, and for small messages of operations that
// synchronise two calls that do not count. From 16 KiB on a batch is one call, and senders write their data
// anew before it. Rank 0 prints one JSON object per line:
// {"operation","bytes","ranks","batch","native_s":[...],"unisono_s":[...],"is_same"}. Sizes are of the vector
// (bcast, reduce, allreduce, scan, exscan), of one rank's block (gather, scatter, allgather, alltoall,
// reduce_scatter_block), or of the mean block where they differ.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { max_samples = 10000, max_sizes = 64 };
enum { large_bytes = 16384 };  // from here on a batch is one call, of data that has just been written
enum { lead_in = 2 };

static int rank, size;
static int (*set_enabled)(int);
static double *input, *output, *expected;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*Run)(int bytes);
static void run_barrier(int bytes) {
  (void)bytes, MPI_Barrier(MPI_COMM_WORLD);
}
static void run_bcast(int bytes) {
  MPI_Bcast(output, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void run_reduce(int bytes) {
  MPI_Reduce(input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void run_allreduce(int bytes) {
  MPI_Allreduce(input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_gather(int bytes) {
  MPI_Gather(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void run_scatter(int bytes) {
  MPI_Scatter(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void run_allgather(int bytes) {
  MPI_Allgather(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void run_alltoall(int bytes) {
  MPI_Alltoall(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void run_reduce_scatter_block(int bytes) {
  MPI_Reduce_scatter_block(input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_scan(int bytes) {
  MPI_Scan(input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_exscan(int bytes) {
  MPI_Exscan(input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// Uneven blocks: rank r's is (r % 2 ? 3 : 1) / 2 of the size, so that neighbours differ and the mean is the
// size.
enum { most_ranks = 1024 };
static int uneven_counts[most_ranks], uneven_places[most_ranks], even_counts[most_ranks],
    even_places[most_ranks];
static MPI_Datatype byte_types[most_ranks];

static int uneven_count(int of, int count) {
  return of == size - 1 && size % 2 == 1 ? count : of % 2 == 1 ? count + count / 2 : count - count / 2;
}

// Counts of elements: of one block for each rank, and in alltoalls of what goes to and comes from each.
static void set_counts(int count) {
  static int set_for = -1;
  int place = 0;
  if (count == set_for) return;
  set_for = count;
  for (int i = 0; i < size; ++i) {
    uneven_counts[i] = uneven_count(i, count);
    uneven_places[i] = place;
    place += uneven_counts[i];
    even_counts[i] = (rank + i) % 2 == 1 ? count + count / 2 : count - count / 2;
    even_places[i] = i * (count + count / 2 + 1);
    byte_types[i] = MPI_BYTE;
  }
}
static void run_allgatherv(int bytes) {
  set_counts(bytes);
  MPI_Allgatherv(input, uneven_counts[rank], MPI_BYTE, output, uneven_counts, uneven_places, MPI_BYTE,
                 MPI_COMM_WORLD);
}
static void run_reduce_scatter(int bytes) {
  set_counts(bytes / 8);
  MPI_Reduce_scatter(input, output, uneven_counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_alltoallv(int bytes) {
  set_counts(bytes);
  MPI_Alltoallv(input, even_counts, even_places, MPI_BYTE, output, even_counts, even_places, MPI_BYTE,
                MPI_COMM_WORLD);
}
static void run_alltoallw(int bytes) {
  set_counts(bytes);
  MPI_Alltoallw(input, even_counts, even_places, byte_types, output, even_counts, even_places, byte_types,
                MPI_COMM_WORLD);
}
static void run_gatherv(int bytes) {
  set_counts(bytes);
  MPI_Gatherv(input, uneven_counts[rank], MPI_BYTE, output, uneven_counts, uneven_places, MPI_BYTE, 0,
              MPI_COMM_WORLD);
}
static void run_scatterv(int bytes) {
  set_counts(bytes);
  MPI_Scatterv(input, uneven_counts, uneven_places, MPI_BYTE, output, uneven_counts[rank], MPI_BYTE, 0,
               MPI_COMM_WORLD);
}

static const struct Operation {
  const char* name;
  Run run;
  int is_reduction, is_sized, is_synchronising, blocks_in, blocks_out;  // blocks: 1, or 0 for one per rank
} operations[] = {
    {"barrier", run_barrier, 0, 0, 1, 1, 1},
    {"bcast", run_bcast, 0, 1, 0, 1, 1},
    {"reduce", run_reduce, 1, 1, 0, 1, 1},
    {"allreduce", run_allreduce, 1, 1, 1, 1, 1},
    {"gather", run_gather, 0, 1, 0, 1, 0},
    {"scatter", run_scatter, 0, 1, 0, 0, 1},
    {"allgather", run_allgather, 0, 1, 1, 1, 0},
    {"alltoall", run_alltoall, 0, 1, 1, 0, 0},
    {"reduce_scatter_block", run_reduce_scatter_block, 1, 1, 1, 0, 1},
    {"scan", run_scan, 1, 1, 0, 1, 1},
    {"exscan", run_exscan, 1, 1, 0, 1, 1},
    {"allgatherv", run_allgatherv, 0, 1, 1, 0, 0},
    {"reduce_scatter", run_reduce_scatter, 1, 1, 1, 0, 0},
    {"alltoallv", run_alltoallv, 0, 1, 1, 0, 0},
    {"alltoallw", run_alltoallw, 0, 1, 1, 0, 0},
    {"gatherv", run_gatherv, 0, 1, 0, 0, 0},
    {"scatterv", run_scatterv, 0, 1, 0, 0, 0},
};

static void enable(int is_enabled) {
  if (set_enabled != NULL) set_enabled(is_enabled);
}

static void fill(double* data, size_t bytes, int seed) {
  for (size_t i = 0; i < (bytes + 7) / 8; ++i) data[i] = (double)((i * 7 + (size_t)seed * 13) % 1000);
}

// Programs send what they have just computed. A buffer that never changes would stay in its readers' caches,
// and a copy straight out of it would cost next to nothing.
static void write_anew(const struct Operation* op, int bytes) {
  static int seed;
  ++seed;
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : size), seed + rank);
  if (op->run == run_bcast && rank == 0) fill(output, (size_t)bytes, seed);
}

// The time of one call of a batch, of the longest rank (valid on all ranks).
static double time_batch(const struct Operation* op, int bytes, int batch, int is_unisono) {
  if (bytes >= large_bytes) write_anew(op, bytes);
  // What is around a batch is the same for both, and such as gives cores away where ranks share them: while
  // some spin in a barrier before it, or in what follows it, others get no core for milliseconds.
  enable(1);
  MPI_Barrier(MPI_COMM_WORLD);
  enable(is_unisono);
  // Ranks that share cores leave the barrier one after the other, which takes as long as many calls. What
  // synchronises itself begins in step after a call or two; the others need the barrier.
  if (op->is_synchronising && bytes < large_bytes) {
    for (int i = 0; i < lead_in; ++i) op->run(bytes);
  }
  const double start = now_s();
  for (int i = 0; i < batch; ++i) op->run(bytes);
  double mine = (now_s() - start) / batch, longest;
  enable(1);
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

// Do native and Unisono give the same? Small whole numbers: sums are exact in any order.
static int is_same(const struct Operation* op, int bytes) {
  const size_t out_bytes = op->blocks_out ? (size_t)bytes : (size_t)(bytes + bytes / 2 + 1) * (size_t)size;
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : size), rank);
  for (int is_unisono = 0; is_unisono < 2; ++is_unisono) {
    fill(output, out_bytes, rank + 100);
    enable(is_unisono);
    op->run(bytes);
    enable(0);
    if (is_unisono == 0) memcpy(expected, output, out_bytes);
  }
  int same = memcmp(expected, output, out_bytes) == 0, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

static void print_samples(const char* key, const double* samples, int count) {
  printf(", \"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.4g", i ? ", " : "", samples[i]);
  printf("]");
}

static int measure(const struct Operation* op, int bytes, int samples, double seconds, int is_verified) {
  static double times[2][max_samples];
  const int same = is_verified ? is_same(op, bytes) : 1;
  // Batches long enough that clock and barrier do not count, short enough that many samples fit in the time.
  // One batch of each warms up.
  int batch = 1;
  double once = 0;
  for (int is_unisono = 0; is_unisono < 2; ++is_unisono) {
    time_batch(op, bytes, 2, is_unisono);
    const double t = time_batch(op, bytes, 4, is_unisono);
    if (is_unisono == 0 || t > once) once = t;
  }
  // With more ranks than cores, 64 calls at least, where that is quick enough: for one-way operations leaving
  // the barrier in front takes as long as many calls.
  while (bytes < large_bytes && batch < 4096 &&
         (once * batch < 100e-6 || (batch < 64 && once * batch < 20e-3))) {
    batch *= 2;
  }
  int count = 0;
  const double start = now_s();
  for (int go = 1; go && count < samples; ++count) {
    // Which goes first changes, so that neither always finds the other's caches.
    const int first = count % 2;
    times[first][count] = time_batch(op, bytes, batch, first);
    times[!first][count] = time_batch(op, bytes, batch, !first);
    go = now_s() - start < seconds || count + 1 < 5;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    printf("{\"operation\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"batch\": %d, \"is_same\": %s", op->name,
           bytes, size, batch, same ? "true" : "false");
    print_samples("native_s", times[0], count);
    print_samples("unisono_s", times[1], count);
    printf("}\n");
    fflush(stdout);
  }
  return same;
}

static int is_listed(const char* list, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = list; (at = strstr(at, name)) != NULL; at += length) {
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  }
  return *list == 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *names = "", *sizes = "8,1024,65536,1048576";
  int samples = 50, is_verified = 1;
  double seconds = 1;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--skip-verify") == 0) {
      is_verified = 0;
      continue;
    } else if (strcmp(argv[i], "--operations") == 0) {
      names = value;
    } else if (strcmp(argv[i], "--sizes") == 0) {
      sizes = value;
    } else if (strcmp(argv[i], "--samples") == 0) {
      samples = atoi(value);
    } else if (strcmp(argv[i], "--seconds") == 0) {
      seconds = atof(value);
    } else {
      if (rank == 0) fprintf(stderr, "collectives: unknown option %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    ++i;
  }
  if (samples < 5) samples = 5;
  if (samples > max_samples) samples = max_samples;
  int bytes[max_sizes], count = 0, largest = 8;
  for (const char* at = sizes; *at != 0 && count < max_sizes;) {
    char* end;
    bytes[count] = (int)strtol(at, &end, 10);
    if (bytes[count] > largest) largest = bytes[count];
    ++count;
    at = *end == ',' ? end + 1 : "";
  }
  // Uneven blocks are up to half as long again.
  const size_t room = ((size_t)largest + (size_t)largest / 2 + 64) * (size_t)size;
  input = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  output = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  expected = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  if (input == NULL || output == NULL || expected == NULL) {
    fprintf(stderr, "collectives: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memset(input, 0, room), memset(output, 0, room), memset(expected, 0, room);
  set_enabled = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  enable(0);
  int is_all_same = 1;
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    if (!is_listed(names, operations[o].name)) continue;
    for (int s = 0; s < count; ++s) {
      if (!operations[o].is_sized && s > 0) break;
      const int n = operations[o].is_sized ? bytes[s] : 0;
      if (operations[o].is_reduction && n % 8 != 0) continue;
      is_all_same &= measure(&operations[o], n, samples, seconds, is_verified);
    }
  }
  enable(1);
  MPI_Finalize();
  return is_all_same ? 0 : 1;
}
