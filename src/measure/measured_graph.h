// SPDX-License-Identifier: BSD-3-Clause
// The graph that the collectives of neighbours are measured on. Its names:
// - "grid": two dimensions, periodic where they are longer than two ranks, so that all neighbours differ.
// - "moore:2,1": all ranks near by on a torus, by dimensions and radius.
// - "random:0.4" or "random:0.4,7": each pair with this probability, and a seed.
// - "ring", "complete".
#pragma once

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_neighbors = 1024 };
static MPI_Comm neighbors_comm = MPI_COMM_NULL;
// Neighbours that send to this rank, and that it sends to. Not all are there on a grid's border.
static int source_count, target_count, sources[most_neighbors], targets[most_neighbors];

// 1 for each edge: [from * ranks + to].
struct Edges {
  char* are_there;
  int ranks;
};

static inline void add_edge(const struct Edges* edges, int from, int to) {
  if (from != to) edges->are_there[(size_t)from * (size_t)edges->ranks + (size_t)to] = 1;
}

// All ranks at most `radius` away in each dimension, on the most even torus. 0 where the words make no sense.
static inline int add_moore_edges(const struct Edges* edges, const char* text) {
  enum { most_dimensions = 8 };
  int dimensions, radius, extents[most_dimensions] = {0}, end = 0;
  if (sscanf(text, "%d,%d%n", &dimensions, &radius, &end) < 2 || text[end] != 0 || dimensions < 1 ||
      dimensions > most_dimensions || radius < 1)
    return 0;
  MPI_Dims_create(edges->ranks, dimensions, extents);
  for (int from = 0; from < edges->ranks; ++from) {
    for (int to = 0; to < edges->ranks; ++to) {
      int is_near = 1;
      for (int d = dimensions - 1, one = from, other = to; d >= 0; one /= extents[d], other /= extents[d--]) {
        const int apart = abs(one % extents[d] - other % extents[d]);
        is_near &= apart <= radius || extents[d] - apart <= radius;
      }
      if (is_near) add_edge(edges, from, to);
    }
  }
  return 1;
}

// A sequence that the seed alone decides (splitmix64), in [0, 1).
static inline double next_share(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / (double)(1ull << 53);
}

// Each pair with the same probability. 0 where the words make no sense.
static inline int add_random_edges(const struct Edges* edges, const char* text) {
  char* end;
  uint64_t state = 1;
  const double density = strtod(text, &end);
  if (end == text || !(density >= 0 && density <= 1)) return 0;
  if (*end == ',') state = strtoull(end + 1, &end, 10);
  if (*end != 0) return 0;
  for (int from = 0; from < edges->ranks; ++from) {
    for (int to = 0; to < edges->ranks; ++to) {
      if (from != to && next_share(&state) < density) add_edge(edges, from, to);
    }
  }
  return 1;
}

static inline int add_all_edges(const struct Edges* edges, const char* text) {
  if (strncmp(text, "moore:", 6) == 0) return add_moore_edges(edges, text + 6);
  if (strncmp(text, "random:", 7) == 0) return add_random_edges(edges, text + 7);
  const int is_ring = strcmp(text, "ring") == 0;
  if (!is_ring && strcmp(text, "complete") != 0) return 0;
  for (int from = 0; from < edges->ranks; ++from) {
    for (int to = 0; to < edges->ranks; ++to) {
      const int apart = (to - from + edges->ranks) % edges->ranks;
      if (!is_ring || apart == 1 || apart == edges->ranks - 1) add_edge(edges, from, to);
    }
  }
  return 1;
}

static inline void make_grid(MPI_Comm of, int ranks) {
  int lengths[2] = {0, 0}, periods[2];
  MPI_Dims_create(ranks, 2, lengths);
  for (int d = 0; d < 2; ++d) periods[d] = lengths[d] > 2;
  MPI_Cart_create(of, 2, lengths, periods, 0, &neighbors_comm);
  for (int d = 0; d < 2; ++d) MPI_Cart_shift(neighbors_comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
  source_count = target_count = 4;
  memcpy(targets, sources, sizeof sources);
}

// Makes `graph` of the communicator's ranks, at most `most_neighbors`. 0 where `text` names none.
static inline int make_neighbors(const char* text, MPI_Comm of) {
  static const int no_weights[most_neighbors];
  struct Edges edges;
  int own;
  MPI_Comm_rank(of, &own);
  MPI_Comm_size(of, &edges.ranks);
  if (strcmp(text, "grid") == 0) return make_grid(of, edges.ranks), 1;
  const size_t ranks = (size_t)edges.ranks;
  edges.are_there = calloc(ranks, ranks);
  if (edges.are_there == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  const int is_known = add_all_edges(&edges, text);
  for (size_t other = 0; is_known && other < ranks; ++other) {
    if (edges.are_there[other * ranks + (size_t)own]) sources[source_count++] = (int)other;
    if (edges.are_there[(size_t)own * ranks + other]) targets[target_count++] = (int)other;
  }
  free(edges.are_there);
  if (!is_known) return 0;
  MPI_Dist_graph_create_adjacent(of, source_count, sources, no_weights, target_count, targets, no_weights,
                                 MPI_INFO_NULL, 0, &neighbors_comm);
  return 1;
}

// How many blocks a buffer has room for where these operations are measured.
static inline int neighbor_blocks(void) {
  return source_count > target_count ? source_count : target_count;
}

// --- The collectives. Blocks of different lengths: an edge's goes by both of its ranks, so that the mean is
// the size. ---

static int sent_counts[most_neighbors], sent_places[most_neighbors], received_counts[most_neighbors],
    received_places[most_neighbors];
static MPI_Aint sent_offsets[most_neighbors], received_offsets[most_neighbors];
static MPI_Datatype neighbor_types[most_neighbors];

static inline int count_of_edge(int own, int other, int count) {
  if (other < 0) return 0;
  return (own + other) % 2 == 1 ? count + count / 2 : count - count / 2;
}
static inline int count_of_rank(int of, int count) {
  if (of < 0) return 0;
  return of % 2 == 1 ? count + count / 2 : count - count / 2;
}

// `is_by_rank`: of an allgatherv, where a rank's block is the same for all.
static inline void set_neighbor_counts(int own, int count, int is_by_rank) {
  static int set_for = -1, was_by_rank;
  const int room = count + count / 2 + 1;
  if (count == set_for && is_by_rank == was_by_rank) return;
  set_for = count, was_by_rank = is_by_rank;
  for (int i = 0; i < target_count; ++i) {
    sent_counts[i] = count_of_edge(own, targets[i], count);
    sent_offsets[i] = sent_places[i] = i * room;
  }
  for (int i = 0; i < source_count; ++i) {
    received_counts[i] =
        is_by_rank ? count_of_rank(sources[i], count) : count_of_edge(own, sources[i], count);
    received_offsets[i] = received_places[i] = i * room;
  }
  for (int i = 0; i < most_neighbors; ++i) neighbor_types[i] = MPI_BYTE;
}
