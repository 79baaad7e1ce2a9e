// SPDX-License-Identifier: BSD-3-Clause
// neighbor_lengths: MPI_Neighbor_allgatherv with blocks of no byte to some 100 KiB, which go different ways
// in one call, and MPI_Neighbor_allgather with all lengths one after the other. Each rank sends to about half
// of all. "OK" where every byte is right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 12, longest = 300000, lengths_count = 9, most_ranks = 256 };
static const int lengths[lengths_count] = {0, 1, 8, 100, 4096, 4097, 65536, 70001, longest};

static int rank, size, source_count, target_count;
static int sources[most_ranks], targets[most_ranks], weights[most_ranks];

static int has_edge(int from, int to) {
  return (from * 7 + to * 11 + from * to) % 5 < 3 || (from + 1) % size == to;
}
static int length_of(int from, int round) {
  return lengths[(from * 5 + round) % lengths_count];
}
static unsigned char byte_of(int from, int round, int at) {
  return (unsigned char)(from * 31 + round * 17 + at + at / 251);
}

static MPI_Comm graph_of_all(void) {
  for (int other = 0; other < size; ++other) {
    if (has_edge(other, rank)) sources[source_count++] = other;
    if (has_edge(rank, other)) targets[target_count++] = other;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, source_count, sources, weights, target_count, targets,
                                 weights, MPI_INFO_NULL, 0, &graph);
  return graph;
}

static int wrong_bytes(const unsigned char* got, int from, int round, int length) {
  int wrong = 0;
  for (int at = 0; at < length; ++at) wrong += got[at] != byte_of(from, round, at);
  return wrong;
}

// Blocks of one call differ in length, or are all as long as one of the list.
static int call(MPI_Comm graph, int round, int is_uneven) {
  const int own = is_uneven ? length_of(rank, round) : lengths[round % lengths_count];
  unsigned char* sent = malloc((size_t)own + 1);
  unsigned char* got = malloc((size_t)source_count * longest + 1);
  int counts[most_ranks], places[most_ranks];
  for (int at = 0; at < own; ++at) sent[at] = byte_of(rank, round, at);
  memset(got, 0xEE, (size_t)source_count * longest + 1);
  for (int i = 0; i < source_count; ++i) {
    counts[i] = is_uneven ? length_of(sources[i], round) : own;
    // Backwards, and not side by side.
    places[i] = is_uneven ? (source_count - 1 - i) * longest : i * own;
  }
  if (is_uneven) {
    MPI_Neighbor_allgatherv(sent, own, MPI_BYTE, got, counts, places, MPI_BYTE, graph);
  } else {
    MPI_Neighbor_allgather(sent, own, MPI_BYTE, got, own, MPI_BYTE, graph);
  }
  int wrong = 0;
  for (int i = 0; i < source_count; ++i) wrong += wrong_bytes(got + places[i], sources[i], round, counts[i]);
  free(sent);
  free(got);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm graph = graph_of_all();
  int wrong = 0, all = 0;
  for (int round = 0; round < rounds; ++round) {
    wrong += call(graph, round, 1);
    wrong += call(graph, round, 0);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "OK\n" : "%d bytes are wrong\n", all);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return all != 0;
}
