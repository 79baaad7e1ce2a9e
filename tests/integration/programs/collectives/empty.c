// SPDX-License-Identifier: BSD-3-Clause
// Blocks that hold nothing. Their buffer may be anywhere, also where the other side's data are, on some ranks
// and not on others. Languages whose empty arrays all have one address do that.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { most_ranks = 64, block = 3 };

static int sent[most_ranks * block], got[most_ranks * block], counts[most_ranks], places[most_ranks];

static void start(int root_count, int others_count, int root) {
  for (int i = 0; i < world_size; ++i) {
    counts[i] = i == root ? root_count : others_count;
    places[i] = i * block;
  }
  for (int i = 0; i < most_ranks * block; ++i) {
    sent[i] = 1000 * world_rank + i;
    got[i] = -1;
  }
}

static void expect_block(const int* where, int count, int first, const char* what) {
  for (int i = 0; i < count; ++i) {
    if (where[i] != first + i) {
      check_failed("%s: element %d is %d, not %d", what, i, where[i], first + i);
      return;
    }
  }
  check_passed();
}

// The root's own block is empty, or all are.
static void gathered(int others_count, int root) {
  const int is_root = world_rank == root, own = is_root ? 0 : others_count;
  start(0, others_count, root);
  MPI_Gatherv(is_root ? got : sent, own, MPI_INT, got, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; is_root && i < world_size; ++i) {
    expect_block(got + places[i], counts[i], 1000 * i, "gatherv");
  }
}

static void scattered(int others_count, int root) {
  const int is_root = world_rank == root, own = is_root ? 0 : others_count;
  start(0, others_count, root);
  MPI_Scatterv(sent, counts, places, MPI_INT, is_root ? sent : got, own, MPI_INT, root, MPI_COMM_WORLD);
  expect_block(got, own, 1000 * root + places[world_rank], "scatterv");
}

// One rank gives nothing, or gets nothing, or neither.
static void gathered_by_all(int others_count, int lone) {
  const int is_lone = world_rank == lone;
  start(0, others_count, lone);
  MPI_Allgatherv(is_lone ? got : sent, counts[world_rank], MPI_INT, got, counts, places, MPI_INT,
                 MPI_COMM_WORLD);
  for (int i = 0; i < world_size; ++i) {
    expect_block(got + places[i], counts[i], 1000 * i, "allgatherv");
  }
}

static void exchanged(int others_count, int lone) {
  const int is_lone = world_rank == lone;
  int given[most_ranks];
  start(0, others_count, lone);
  for (int i = 0; i < world_size; ++i) given[i] = is_lone ? 0 : others_count;
  MPI_Alltoallv(is_lone ? got : sent, given, places, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < world_size; ++i) {
    expect_block(got + places[i], counts[i], 1000 * i + places[world_rank], "alltoallv");
  }
}

void section_empty_blocks(void) {
  if (world_size > most_ranks) return;
  for (int count = 0; count <= block; count += block) {
    for (int rank = 0; rank < world_size; ++rank) {
      if (is_tested(gatherv)) gathered(count, rank);
      if (is_tested(scatterv)) scattered(count, rank);
      if (is_tested(allgatherv)) gathered_by_all(count, rank);
      if (is_tested(alltoallv)) exchanged(count, rank);
    }
  }
}
