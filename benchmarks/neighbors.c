// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives by the MPI itself and under Unisono, in turn in one run. Started by neighbors.py,
// with Unisono preloaded.
//
//   neighbors [--samples N] [--seconds S] [--operations A,B] [--sizes A,B] GRAPH ...
//
// Rank 0 prints one JSON object for each graph, operation and size: {"graph", "operation", "bytes", "ranks",
// "batch", "mean_degree", "most_degree", "edges_between_nodes", "node_pairs", "native_wrong",
// "unisono_wrong", "native_s": [...], "unisono_s": [...]}. Seconds are of a call, of the longest rank, of
// alternating batches. Results are compared with what the standard says: wrong blocks of all ranks are
// counted for each of both.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured_operations.h"
#include "neighbor_graphs.h"

// A set-up that waits until calls have added up is over after the lead-in.
enum { max_samples = 2000, least_samples = 5, most_sizes = 32, lead_in = 64, few = 2 };
enum { first_calls = 32, communicators = 5 };

static int (*set_enabled)(int);
static struct Graph graph;
static int is_alltoall;
static const char* const names[] = {"neighbor_allgather", "neighbor_alltoall"};

static void call(int bytes) {
  if (is_alltoall) {
    MPI_Neighbor_alltoall(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, graph.comm);
  } else {
    MPI_Neighbor_allgather(input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, graph.comm);
  }
}

// What the block of this edge has in it.
static void fill_block(unsigned char* block, int bytes, int from, int to, int number) {
  uint64_t state =
      mixed((uint64_t)from * 1000003u + (is_alltoall ? (uint64_t)to * 1009u + (uint64_t)number + 1 : 0));
  for (int i = 0; i < bytes; ++i) {
    if (i % 8 == 0) state = mixed(state + 0x9e3779b97f4a7c15u);
    block[i] = (unsigned char)(state >> (8 * (i % 8)));
  }
}

static void fill_input(int bytes) {
  unsigned char* at = (unsigned char*)input;
  if (!is_alltoall) fill_block(at, bytes, rank, 0, 0);
  for (int i = 0; is_alltoall && i < graph.out; ++i, at += bytes) {
    const int to = graph.destinations[i];
    fill_block(at, bytes, rank, to, number_of_edge(&graph, graph.destinations, i, 0));
  }
}

// Blocks that are not what they should be, of all ranks.
static int wrong_blocks(int bytes, int is_unisono) {
  unsigned char* expected = malloc((size_t)bytes + 1);
  int wrong = 0;
  if (expected == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  fill_input(bytes);
  memset(output, 0xee, (size_t)bytes * (size_t)graph.in);
  MPI_Barrier(MPI_COMM_WORLD);
  set_enabled(is_unisono);
  call(bytes);
  set_enabled(0);
  for (int i = 0; i < graph.in; ++i) {
    const int from = graph.sources[i];
    fill_block(expected, bytes, from, rank, number_of_edge(&graph, graph.sources, i, 1));
    wrong += memcmp(expected, (unsigned char*)output + (size_t)i * (size_t)bytes, (size_t)bytes) != 0;
  }
  free(expected);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

static double time_batch(int bytes, int batch, int is_unisono, int calls_before) {
  MPI_Barrier(MPI_COMM_WORLD);
  set_enabled(is_unisono);
  for (int i = 0; i < calls_before; ++i) call(bytes);
  const double start = now_s();
  for (int i = 0; i < batch; ++i) {
    // Buffers of programs change between calls, so that caches of others do not have them.
    *(volatile unsigned char*)input += 1;
    call(bytes);
  }
  double mine = (now_s() - start) / batch, longest;
  set_enabled(0);
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

// The first calls on a new communicator, behind a barrier each: into `quickest` what is less than there.
static void time_first_calls(const char* text, int bytes, int is_unisono, double* quickest) {
  double mine[first_calls], longest[first_calls];
  make_graph(&graph, text, rank, size);
  for (int i = 0; i < first_calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    set_enabled(is_unisono);
    const double start = now_s();
    call(bytes);
    mine[i] = now_s() - start;
    set_enabled(0);
  }
  MPI_Allreduce(mine, longest, first_calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < first_calls; ++i) quickest[i] = longest[i] < quickest[i] ? longest[i] : quickest[i];
  MPI_Comm_free(&graph.comm);
}

static void print_samples(const char* key, const double* samples, int count) {
  printf(", \"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.5g", i ? ", " : "", samples[i]);
  printf("]");
}

struct Limits {
  int samples;
  double seconds;
};

// Of a few tries the quickest: what disturbs the machine for a moment is to decide nothing.
static double quickest_batch(int bytes, int batch) {
  double quickest_s = time_batch(bytes, batch, 0, few);
  for (int i = 0; i < 2 && quickest_s * batch < 50e-3; ++i) {
    const double again_s = time_batch(bytes, batch, 0, few);
    quickest_s = again_s < quickest_s ? again_s : quickest_s;
  }
  return quickest_s;
}

// The batch of calls that takes about 2 ms. First Unisono has its lead-in, in which it may set up.
static int fitting_batch(int bytes) {
  int batch = 1;
  time_batch(bytes, 1, 1, quickest_batch(bytes, 1) > 2e-3 ? few : lead_in);
  while (batch < 1 << 12 && quickest_batch(bytes, batch) * batch < 2e-3) batch *= 2;
  return batch;
}

static int measure(const char* text, int bytes, struct Crossing crossing, const int degrees[2],
                   struct Limits limits) {
  static double times[2][max_samples];
  double first[2][first_calls];
  int wrong[2];
  for (int i = 0; i < 2 * first_calls; ++i) first[i / first_calls][i % first_calls] = 1e9;
  for (int i = 0; i < 2 * communicators; ++i) time_first_calls(text, bytes, i % 2, first[i % 2]);
  make_graph(&graph, text, rank, size);
  for (int i = 0; i < 2; ++i) wrong[i] = wrong_blocks(bytes, i);
  const int batch = fitting_batch(bytes);
  int count = 0;
  const double start = now_s();
  for (int go = 1; go && count < limits.samples; ++count) {
    for (int i = 0; i < 2; ++i) {
      const int which = (i + count) % 2;
      times[which][count] = time_batch(bytes, batch, which, few);
    }
    go = now_s() - start < limits.seconds || count + 1 < least_samples;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  // What the alternation has set up is right as well.
  for (int i = 0; i < 2; ++i) wrong[i] += wrong_blocks(bytes, i);
  MPI_Comm_free(&graph.comm);
  if (rank == 0) {
    printf("{\"graph\": \"%s\", \"operation\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"batch\": %d", text,
           names[is_alltoall], bytes, size, batch);
    printf(", \"mean_degree\": %.2f, \"most_degree\": %d, \"edges_between_nodes\": %d, \"node_pairs\": %d",
           (double)degrees[0] / size, degrees[1], crossing.edges, crossing.node_pairs);
    printf(", \"native_wrong\": %d, \"unisono_wrong\": %d", wrong[0], wrong[1]);
    print_samples("native_s", times[0], count);
    print_samples("unisono_s", times[1], count);
    print_samples("first_native_s", first[0], first_calls);
    print_samples("first_unisono_s", first[1], first_calls);
    printf("}\n");
    fflush(stdout);
  }
  return wrong[1] <= wrong[0];
}

static int measure_graph(const char* text, const char* operations_wanted, const int* sizes, int count,
                         struct Limits limits) {
  int is_right = 1, degrees[2];
  make_graph(&graph, text, rank, size);
  struct Crossing crossing = crossing_edges(&graph, rank, size);
  MPI_Allreduce(MPI_IN_PLACE, &crossing.edges, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&graph.out, &degrees[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&graph.out, &degrees[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&graph.comm);
  for (is_alltoall = 0; is_alltoall < 2; ++is_alltoall) {
    if (!is_listed(operations_wanted, names[is_alltoall])) continue;
    for (int i = 0; i < count; ++i) is_right &= measure(text, sizes[i], crossing, degrees, limits);
  }
  return is_right;
}

static void allocate(int largest) {
  const size_t room = ((size_t)largest * (size_t)(size > 8 ? size : 8) + 4095) / 4096 * 4096 + 4096;
  input = aligned_alloc(4096, room);
  output = aligned_alloc(4096, room);
  if (input == NULL || output == NULL) {
    fprintf(stderr, "neighbors: no memory for %zu bytes\n", 2 * room);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memset(input, 0, room);
  memset(output, 0, room);
}

static void refuse(const char* why) {
  if (rank == 0) fprintf(stderr, "neighbors: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct Limits limits = {60, 1.0};
  const char *wanted = "", *listed = "8,1024";
  int first = 1, sizes[most_sizes], largest = 1;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    const char* value = argv[first + 1];
    if (strcmp(argv[first], "--samples") == 0) limits.samples = atoi(value);
    if (strcmp(argv[first], "--seconds") == 0) limits.seconds = atof(value);
    if (strcmp(argv[first], "--operations") == 0) wanted = value;
    if (strcmp(argv[first], "--sizes") == 0) listed = value;
  }
  if (limits.samples > max_samples) limits.samples = max_samples;
  const int count = read_sizes(listed, sizes, most_sizes);
  if (count < 0) refuse("--sizes: numbers of bytes, separated by commas");
  for (int i = 0; i < count; ++i) {
    if (sizes[i] < 1) refuse("--sizes: a block has 1 byte at least");
    largest = sizes[i] > largest ? sizes[i] : largest;
  }
  set_enabled = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  if (set_enabled == NULL) refuse("does not run under Unisono");
  allocate(largest);
  set_enabled(0);
  int is_right = 1;
  for (int i = first; i < argc; ++i) is_right &= measure_graph(argv[i], wanted, sizes, count, limits);
  set_enabled(1);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
