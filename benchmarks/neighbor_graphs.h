// SPDX-License-Identifier: BSD-3-Clause
// Graphs of ranks for neighbors.c: the same on all ranks without a message, from a few words.
//
//   `moore:D,R`     Ranks lie on a periodic grid of D dimensions. All up to R steps away are neighbours.
//   `er:DENSITY,S`  Each ordered pair has an edge with this probability (Erdos and Renyi). S is the seed.
//   `cart:D`        MPI_Cart_create, periodic, D dimensions.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_dimensions = 4, most_members = 1024 };

// What a rank sends to and receives from, in MPI's order. A pair has several edges where a Cartesian
// dimension has 1 or 2 ranks.
struct Graph {
  MPI_Comm comm;
  int is_cartesian;
  int in, out;
  int sources[most_members], destinations[most_members];
};

static inline uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline int has_random_edge(int from, int to, double density, uint64_t seed) {
  if (from == to) return 0;
  const uint64_t hash = mixed(mixed(mixed(seed + 0x9e3779b97f4a7c15u) + (uint64_t)from) + (uint64_t)to);
  return (double)(hash >> 11) / (double)(1ull << 53) < density;
}

// Whether `to` lies at most `radius` steps away in each dimension of the periodic grid.
static inline int has_moore_edge(int from, int to, const int* sides, int dimensions, int radius) {
  if (from == to) return 0;
  for (int d = dimensions - 1; d >= 0; --d) {
    const int apart = abs(from % sides[d] - to % sides[d]);
    if (apart > radius && sides[d] - apart > radius) return 0;
    from /= sides[d];
    to /= sides[d];
  }
  return 1;
}

// Each rank's lists begin behind it, so that not all ranks send to the lowest ones first. That is the best
// for an MPI that goes through the list.
static inline void make_adjacent(struct Graph* graph, const char* text, int rank, int size) {
  double density = 0;
  unsigned long long seed = 0;
  int dimensions = 0, radius = 0, sides[most_dimensions] = {0};
  const int is_moore = sscanf(text, "moore:%d,%d", &dimensions, &radius) == 2 && dimensions > 0 &&
                       dimensions <= most_dimensions && radius > 0;
  if (is_moore) {
    MPI_Dims_create(size, dimensions, sides);
  } else if (sscanf(text, "er:%lf,%llu", &density, &seed) != 2) {
    if (rank == 0)
      fprintf(stderr, "neighbors: '%s' is no graph: moore:D,R, er:DENSITY,SEED or cart:D\n", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 1; i < size; ++i) {
    const int after = (rank + i) % size, before = (rank + size - i) % size;
    const int is_out = is_moore ? has_moore_edge(rank, after, sides, dimensions, radius)
                                : has_random_edge(rank, after, density, seed);
    const int is_in = is_moore ? has_moore_edge(before, rank, sides, dimensions, radius)
                               : has_random_edge(before, rank, density, seed);
    if (is_out) graph->destinations[graph->out++] = after;
    if (is_in) graph->sources[graph->in++] = before;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, graph->in, graph->sources, MPI_UNWEIGHTED, graph->out,
                                 graph->destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph->comm);
}

static inline void make_cartesian(struct Graph* graph, int dimensions, int size) {
  int sides[most_dimensions] = {0}, periods[most_dimensions] = {1, 1, 1, 1};
  MPI_Dims_create(size, dimensions, sides);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, periods, 0, &graph->comm);
  graph->is_cartesian = 1;
  graph->in = graph->out = 2 * dimensions;
  for (int d = 0; d < dimensions; ++d) {
    MPI_Cart_shift(graph->comm, d, 1, &graph->sources[2 * d], &graph->sources[2 * d + 1]);
  }
  memcpy(graph->destinations, graph->sources, sizeof graph->sources);
}

static inline void make_graph(struct Graph* graph, const char* text, int rank, int size) {
  int dimensions = 0;
  memset(graph, 0, sizeof *graph);
  if (size > most_members) {
    if (rank == 0) fprintf(stderr, "neighbors: at most %d ranks\n", most_members);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (sscanf(text, "cart:%d", &dimensions) == 1 && dimensions > 0 && dimensions <= most_dimensions) {
    make_cartesian(graph, dimensions, size);
  } else {
    make_adjacent(graph, text, rank, size);
  }
}

// Which of the edges between the same two ranks this is, by the standard (MPI 4.1, section 8.6). In a graph
// the first one out meets the first one in. In a Cartesian communicator what goes out in one direction comes
// in from the other.
static inline int number_of_edge(const struct Graph* graph, const int* ranks, int edge, int is_in) {
  if (graph->is_cartesian) return is_in ? edge ^ 1 : edge;
  int number = 0;
  for (int i = 0; i < edge; ++i) number += ranks[i] == ranks[edge];
  return number;
}

// Of each rank: edges to ranks of other nodes. Of the job: ordered pairs of nodes with an edge between them.
struct Crossing {
  int edges, node_pairs;
};

static inline struct Crossing crossing_edges(const struct Graph* graph, int rank, int size) {
  struct Crossing crossing = {0, 0};
  MPI_Comm node;
  int own = rank;
  int* nodes = malloc((size_t)size * sizeof *nodes);
  unsigned char* pairs = calloc((size_t)size * (size_t)size, 1);
  if (nodes == NULL || pairs == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Bcast(&own, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  MPI_Allgather(&own, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < graph->out; ++i) {
    const int to = nodes[graph->destinations[i]];
    if (to == own) continue;
    ++crossing.edges;
    pairs[own * size + to] = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, pairs, size * size, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < size * size; ++i) crossing.node_pairs += pairs[i];
  free(nodes);
  free(pairs);
  return crossing;
}
