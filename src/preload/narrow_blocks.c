// SPDX-License-Identifier: BSD-3-Clause
// As narrow.c, for the operations on uneven blocks: their counts and displacements are arrays, one entry for
// each rank of the communicator (of the other group, in an intercommunicator).
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/resolve.h"

typedef uintptr_t Word;
typedef int64_t Count;

#define CALLER __builtin_return_address(0)

// Who is asked about a communicator.
struct Asked {
  Word comm;
  const void* caller;
};

static int ask(const struct Asked* asked, const char* name) {
  int (*function)(Word, int*) = (int (*)(Word, int*))unisono_host_function_named(name, asked->caller);
  int answer = 0;
  if (function == NULL || function(asked->comm, &answer) != 0) return 0;
  return answer;
}

static int is_intercommunicator(const struct Asked* asked) {
  return ask(asked, "PMPI_Comm_test_inter") != 0;
}

static int peers(const struct Asked* asked) {
  return ask(asked, is_intercommunicator(asked) ? "PMPI_Comm_remote_size" : "PMPI_Comm_size");
}

// MPI_ROOT is -4 or -3 in MPIs that lack large-count functions, MPI_PROC_NULL above it.
static int is_root(const struct Asked* asked, int root) {
  if (is_intercommunicator(asked)) return root <= -3;
  return root == ask(asked, "PMPI_Comm_rank");
}

static int narrow(Count count) {
  return count < 0 || count > INT_MAX ? -1 : (int)count;
}

// An array of ints, to be freed; what does not fit becomes an invalid count. Null where nothing is to be
// read.
static int* narrow_all(const Count* large, int count) {
  if (large == NULL || count <= 0) return NULL;
  int* small = malloc((size_t)count * sizeof *small);
  for (int i = 0; small != NULL && i < count; ++i) small[i] = narrow(large[i]);
  return small;
}

// Displacements may be negative.
static int* narrow_places(const Count* large, int count, int* counts) {
  if (large == NULL || count <= 0) return NULL;
  int* small = malloc((size_t)count * sizeof *small);
  for (int i = 0; small != NULL && i < count; ++i) {
    small[i] = (int)large[i];
    if (small[i] != large[i] && counts != NULL) counts[i] = -1;
  }
  return small;
}

static UnisonoFunction small_count(int slot, const void* caller, const char* name) {
  UnisonoFunction function = unisono_host_function(slot, caller);
  if (function == (UnisonoFunction)0)
    unisono_no_function(name, "the MPI in this process has no such function");
  return function;
}

struct Blocks {
  int* counts;
  int* places;
};

struct NeighborCounts {
  int in, out;
};

static struct Blocks narrow_blocks(const Count* counts, const Count* places, int count) {
  struct Blocks blocks;
  blocks.counts = narrow_all(counts, count);
  blocks.places = narrow_places(places, count, blocks.counts);
  return blocks;
}

static int freed(int result, const struct Blocks* some, const struct Blocks* others) {
  free(some->counts);
  free(some->places);
  if (others != NULL) {
    free(others->counts);
    free(others->places);
  }
  return result;
}

static int narrow_Allgatherv_c(Word in, Count in_count, Word in_type, Word out, const Count* counts,
                               const Count* places, Word out_type, Word comm) {
  int (*function)(Word, int, Word, Word, const int*, const int*, Word, Word) =
      (int (*)(Word, int, Word, Word, const int*, const int*, Word, Word))small_count(
          unisono_slot_Allgatherv, CALLER, "MPI_Allgatherv_c");
  const struct Asked asked = {comm, CALLER};
  const struct Blocks to = narrow_blocks(counts, places, peers(&asked));
  return freed(function(in, narrow(in_count), in_type, out, to.counts, to.places, out_type, comm), &to, NULL);
}

static int narrow_Gatherv_c(Word in, Count in_count, Word in_type, Word out, const Count* counts,
                            const Count* places, Word out_type, Word root, Word comm) {
  int (*function)(Word, int, Word, Word, const int*, const int*, Word, Word, Word) =
      (int (*)(Word, int, Word, Word, const int*, const int*, Word, Word, Word))small_count(
          unisono_slot_Gatherv, CALLER, "MPI_Gatherv_c");
  const struct Asked asked = {comm, CALLER};
  const struct Blocks to = narrow_blocks(counts, places, is_root(&asked, (int)root) ? peers(&asked) : 0);
  return freed(function(in, narrow(in_count), in_type, out, to.counts, to.places, out_type, root, comm), &to,
               NULL);
}

static int narrow_Scatterv_c(Word in, const Count* counts, const Count* places, Word in_type, Word out,
                             Count out_count, Word out_type, Word root, Word comm) {
  int (*function)(Word, const int*, const int*, Word, Word, int, Word, Word, Word) =
      (int (*)(Word, const int*, const int*, Word, Word, int, Word, Word, Word))small_count(
          unisono_slot_Scatterv, CALLER, "MPI_Scatterv_c");
  const struct Asked asked = {comm, CALLER};
  const struct Blocks from = narrow_blocks(counts, places, is_root(&asked, (int)root) ? peers(&asked) : 0);
  return freed(function(in, from.counts, from.places, in_type, out, narrow(out_count), out_type, root, comm),
               &from, NULL);
}

// Alltoallw's types are an array where alltoallv has one. Of in-place calls the first arrays mean nothing,
// and may be anything; they are null in all programs that were seen.
#define NARROW_ALLTOALL(name)                                                                                \
  static int narrow_##name##_c(Word in, const Count* in_counts, const Count* in_places, Word in_type,        \
                               Word out, const Count* out_counts, const Count* out_places, Word out_type,    \
                               Word comm) {                                                                  \
    int (*function)(Word, const int*, const int*, Word, Word, const int*, const int*, Word, Word) =          \
        (int (*)(Word, const int*, const int*, Word, Word, const int*, const int*, Word, Word))small_count(  \
            unisono_slot_##name, CALLER, "MPI_" #name "_c");                                                 \
    const struct Asked asked = {comm, CALLER};                                                               \
    const int count = peers(&asked);                                                                         \
    const struct Blocks from = narrow_blocks(in_counts, in_places, count);                                   \
    const struct Blocks to = narrow_blocks(out_counts, out_places, count);                                   \
    return freed(function(in, from.counts, from.places, in_type, out, to.counts, to.places, out_type, comm), \
                 &from, &to);                                                                                \
  }
NARROW_ALLTOALL(Alltoallv)
NARROW_ALLTOALL(Alltoallw)

// Of an intercommunicator the counts are those of the own group.
static int narrow_Reduce_scatter_c(Word in, Word out, const Count* counts, Word type, Word op, Word comm) {
  int (*function)(Word, Word, const int*, Word, Word, Word) =
      (int (*)(Word, Word, const int*, Word, Word, Word))small_count(unisono_slot_Reduce_scatter, CALLER,
                                                                     "MPI_Reduce_scatter_c");
  const struct Asked asked = {comm, CALLER};
  const struct Blocks blocks = narrow_blocks(counts, NULL, ask(&asked, "PMPI_Comm_size"));
  return freed(function(in, out, blocks.counts, type, op, comm), &blocks, NULL);
}

// --- Neighbours on a topology: so many blocks come in, and so many go out ---

static struct NeighborCounts neighbors(const struct Asked* asked) {
  struct NeighborCounts found = {0, 0};
  // The kinds of topologies, as MPIs number them that lack large-count functions.
  const int is_open_mpi = unisono_host_function_named("ompi_mpi_comm_world", asked->caller) != NULL;
  const int cartesian = is_open_mpi ? 1 : 2, graph = is_open_mpi ? 2 : 1, distributed = 3;
  const int kind = ask(asked, "PMPI_Topo_test");
  if (kind == cartesian) found.in = found.out = 2 * ask(asked, "PMPI_Cartdim_get");
  if (kind == graph) {
    int (*count)(Word, int, int*) =
        (int (*)(Word, int, int*))unisono_host_function_named("PMPI_Graph_neighbors_count", asked->caller);
    if (count != NULL && count(asked->comm, ask(asked, "PMPI_Comm_rank"), &found.in) == 0)
      found.out = found.in;
  }
  if (kind == distributed) {
    int is_weighted = 0;
    int (*count)(Word, int*, int*, int*) = (int (*)(Word, int*, int*, int*))unisono_host_function_named(
        "PMPI_Dist_graph_neighbors_count", asked->caller);
    if (count != NULL) count(asked->comm, &found.in, &found.out, &is_weighted);
  }
  return found;
}

static int narrow_Neighbor_allgatherv_c(Word in, Count in_count, Word in_type, Word out, const Count* counts,
                                        const Count* places, Word out_type, Word comm) {
  int (*function)(Word, int, Word, Word, const int*, const int*, Word, Word) =
      (int (*)(Word, int, Word, Word, const int*, const int*, Word, Word))small_count(
          unisono_slot_Neighbor_allgatherv, CALLER, "MPI_Neighbor_allgatherv_c");
  const struct Asked asked = {comm, CALLER};
  const struct Blocks to = narrow_blocks(counts, places, neighbors(&asked).in);
  return freed(function(in, narrow(in_count), in_type, out, to.counts, to.places, out_type, comm), &to, NULL);
}

static int narrow_Neighbor_alltoallv_c(Word in, const Count* in_counts, const Count* in_places, Word in_type,
                                       Word out, const Count* out_counts, const Count* out_places,
                                       Word out_type, Word comm) {
  int (*function)(Word, const int*, const int*, Word, Word, const int*, const int*, Word, Word) =
      (int (*)(Word, const int*, const int*, Word, Word, const int*, const int*, Word, Word))small_count(
          unisono_slot_Neighbor_alltoallv, CALLER, "MPI_Neighbor_alltoallv_c");
  const struct Asked asked = {comm, CALLER};
  const struct NeighborCounts count = neighbors(&asked);
  const struct Blocks from = narrow_blocks(in_counts, in_places, count.out);
  const struct Blocks to = narrow_blocks(out_counts, out_places, count.in);
  return freed(function(in, from.counts, from.places, in_type, out, to.counts, to.places, out_type, comm),
               &from, &to);
}

// Displacements are wide, whatever counts are.
static int narrow_Neighbor_alltoallw_c(Word in, const Count* in_counts, Word in_places, Word in_types,
                                       Word out, const Count* out_counts, Word out_places, Word out_types,
                                       Word comm) {
  int (*function)(Word, const int*, Word, Word, Word, const int*, Word, Word, Word) =
      (int (*)(Word, const int*, Word, Word, Word, const int*, Word, Word, Word))small_count(
          unisono_slot_Neighbor_alltoallw, CALLER, "MPI_Neighbor_alltoallw_c");
  const struct Asked asked = {comm, CALLER};
  const struct NeighborCounts count = neighbors(&asked);
  const struct Blocks from = narrow_blocks(in_counts, NULL, count.out);
  const struct Blocks to = narrow_blocks(out_counts, NULL, count.in);
  return freed(function(in, from.counts, in_places, in_types, out, to.counts, out_places, out_types, comm),
               &from, &to);
}

UnisonoFunction unisono_narrowing_of_blocks(int slot) {
  switch (slot) {
#define NARROWING(name)         \
  case unisono_slot_##name##_c: \
    return (UnisonoFunction)narrow_##name##_c;
    NARROWING(Allgatherv)
    NARROWING(Reduce_scatter)
    NARROWING(Alltoallv)
    NARROWING(Alltoallw)
    NARROWING(Gatherv)
    NARROWING(Scatterv)
    NARROWING(Neighbor_allgatherv)
    NARROWING(Neighbor_alltoallv)
    NARROWING(Neighbor_alltoallw)
#undef NARROWING
    default:
      return (UnisonoFunction)0;
  }
}
