// SPDX-License-Identifier: BSD-3-Clause
// The collectives that benchmark programs measure, each as one call on `comm` from `input` to `output`. Sizes
// are of the vector (bcast, reduce, allreduce, scan, exscan), of one rank's block (gather, scatter,
// allgather, alltoall, reduce_scatter_block), or of the mean block where they differ.
#pragma once

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measured_graph.h"

static MPI_Comm comm = MPI_COMM_WORLD;  // in which `rank` and `size` count
static int rank, size;
static double *input, *output;

// Whether calls are made as MPI_I... and waited for at once.
static int is_non_blocking;
#define CALL(blocking, non_blocking, ...)    \
  do {                                       \
    if (is_non_blocking) {                   \
      MPI_Request request;                   \
      non_blocking(__VA_ARGS__, &request);   \
      MPI_Wait(&request, MPI_STATUS_IGNORE); \
    } else {                                 \
      blocking(__VA_ARGS__);                 \
    }                                        \
  } while (0)

typedef void (*Run)(int bytes);
static void run_barrier(int bytes) {
  (void)bytes;
  CALL(MPI_Barrier, MPI_Ibarrier, comm);
}
static void run_bcast(int bytes) {
  CALL(MPI_Bcast, MPI_Ibcast, output, bytes, MPI_BYTE, 0, comm);
}
static void run_reduce(int bytes) {
  CALL(MPI_Reduce, MPI_Ireduce, input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, comm);
}
static void run_allreduce(int bytes) {
  CALL(MPI_Allreduce, MPI_Iallreduce, input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
}
static void run_gather(int bytes) {
  CALL(MPI_Gather, MPI_Igather, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, 0, comm);
}
static void run_scatter(int bytes) {
  CALL(MPI_Scatter, MPI_Iscatter, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, 0, comm);
}
static void run_allgather(int bytes) {
  CALL(MPI_Allgather, MPI_Iallgather, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, comm);
}
static void run_alltoall(int bytes) {
  CALL(MPI_Alltoall, MPI_Ialltoall, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE, comm);
}

static void run_reduce_scatter_block(int bytes) {
  CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, input, output, bytes / 8, MPI_DOUBLE, MPI_SUM,
       comm);
}
static void run_scan(int bytes) {
  CALL(MPI_Scan, MPI_Iscan, input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
}
static void run_exscan(int bytes) {
  CALL(MPI_Exscan, MPI_Iexscan, input, output, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
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
  CALL(MPI_Allgatherv, MPI_Iallgatherv, input, uneven_counts[rank], MPI_BYTE, output, uneven_counts,
       uneven_places, MPI_BYTE, comm);
}
static void run_reduce_scatter(int bytes) {
  set_counts(bytes / 8);
  CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, input, output, uneven_counts, MPI_DOUBLE, MPI_SUM, comm);
}
static void run_alltoallv(int bytes) {
  set_counts(bytes);
  CALL(MPI_Alltoallv, MPI_Ialltoallv, input, even_counts, even_places, MPI_BYTE, output, even_counts,
       even_places, MPI_BYTE, comm);
}
static void run_alltoallw(int bytes) {
  set_counts(bytes);
  CALL(MPI_Alltoallw, MPI_Ialltoallw, input, even_counts, even_places, byte_types, output, even_counts,
       even_places, byte_types, comm);
}
static void run_gatherv(int bytes) {
  set_counts(bytes);
  CALL(MPI_Gatherv, MPI_Igatherv, input, uneven_counts[rank], MPI_BYTE, output, uneven_counts, uneven_places,
       MPI_BYTE, 0, comm);
}
static void run_scatterv(int bytes) {
  set_counts(bytes);
  CALL(MPI_Scatterv, MPI_Iscatterv, input, uneven_counts, uneven_places, MPI_BYTE, output,
       uneven_counts[rank], MPI_BYTE, 0, comm);
}

// With the neighbours on `graph`.
static void run_neighbor_allgather(int bytes) {
  CALL(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE,
       neighbors_comm);
}
static void run_neighbor_allgatherv(int bytes) {
  set_neighbor_counts(rank, bytes, 1);
  CALL(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, input, count_of_rank(rank, bytes), MPI_BYTE, output,
       received_counts, received_places, MPI_BYTE, neighbors_comm);
}
static void run_neighbor_alltoall(int bytes) {
  CALL(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, input, bytes, MPI_BYTE, output, bytes, MPI_BYTE,
       neighbors_comm);
}
static void run_neighbor_alltoallv(int bytes) {
  set_neighbor_counts(rank, bytes, 0);
  CALL(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, input, sent_counts, sent_places, MPI_BYTE, output,
       received_counts, received_places, MPI_BYTE, neighbors_comm);
}
static void run_neighbor_alltoallw(int bytes) {
  set_neighbor_counts(rank, bytes, 0);
  CALL(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, input, sent_counts, sent_offsets, neighbor_types,
       output, received_counts, received_offsets, neighbor_types, neighbors_comm);
}

static const struct Operation {
  const char* name;
  Run run;
  // Blocks: 1, or 0 for one per rank or neighbour.
  int is_reduction, is_sized, is_synchronising, blocks_in, blocks_out;
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
    {"neighbor_allgather", run_neighbor_allgather, 0, 1, 1, 0, 0},
    {"neighbor_allgatherv", run_neighbor_allgatherv, 0, 1, 1, 0, 0},
    {"neighbor_alltoall", run_neighbor_alltoall, 0, 1, 1, 0, 0},
    {"neighbor_alltoallv", run_neighbor_alltoallv, 0, 1, 1, 0, 0},
    {"neighbor_alltoallw", run_neighbor_alltoallw, 0, 1, 1, 0, 0},
};

// What benchmark programs have in common.
static inline int is_of_neighbors(const char* name) {
  return strncmp(name, "neighbor_", 9) == 0;
}

// How many blocks a buffer holds at most: one for each rank or neighbour.
static inline int most_blocks(void) {
  return neighbor_blocks() > size ? neighbor_blocks() : size;
}

static inline const struct Operation* find_operation(const char* name) {
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    if (strcmp(operations[o].name, name) == 0) return &operations[o];
  }
  return NULL;
}

static inline int is_listed(const char* list, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = list; (at = strstr(at, name)) != NULL; at += length) {
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  }
  return *list == 0;
}

// The numbers of a list with commas; how many, -1 where one is no size that an int holds, or there are more
// than `most`.
static inline int read_sizes(const char* list, int* bytes, int most) {
  int count = 0;
  for (const char* at = list; *at != 0;) {
    char* end;
    const long long value = strtoll(at, &end, 10);
    if (count == most || end == at || value < 0 || value > INT_MAX) return -1;
    bytes[count++] = (int)value;
    at = *end == ',' ? end + 1 : "";
  }
  return count;
}

// Whether ints count the bytes, also of all blocks together, for these operations at these sizes; says where
// not.
static inline int have_counts(const char* names, const int* bytes, int count, int world_rank) {
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    const struct Operation* op = &operations[o];
    if (!op->is_sized || (op->blocks_in && op->blocks_out) || !is_listed(names, op->name)) continue;
    for (int s = 0; s < count; ++s) {
      // Uneven blocks are up to half as long again.
      if (((long long)bytes[s] + bytes[s] / 2 + 1) * most_blocks() <= INT_MAX) continue;
      if (world_rank == 0) {
        fprintf(stderr,
                "collectives: %s of %d bytes a block: an int does not count the bytes of the blocks of %d "
                "ranks; name a smaller size\n",
                op->name, bytes[s], most_blocks());
      }
      return 0;
    }
  }
  return 1;
}

static inline double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Small whole numbers that come again after a period: to divide for each would take longer than most calls.
static inline void fill(double* data, size_t bytes, int seed) {
  enum { period = 1000 };
  const size_t count = (bytes + 7) / 8, first = count < period ? count : period;
  for (size_t i = 0; i < first; ++i) data[i] = (double)((i * 7 + (size_t)seed * 13) % period);
  for (size_t i = first; i < count; ++i) data[i] = data[i - period];
}
