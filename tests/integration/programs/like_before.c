// SPDX-License-Identifier: BSD-3-Clause
// Calls that are like the one before but for datatypes, the operator, counts, places or MPI_IN_PLACE. What
// was known of a call's arguments may be wrong of the next one's. Every rank draws what all do.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 16, calls = 240, most_elements = 9, room = 16 * most_elements };
enum { of_int, of_double, with_gaps, kinds };

static int rank, size;
static MPI_Datatype types[kinds];
static const int extents[kinds] = {sizeof(int), sizeof(double), 12};

static unsigned draw(int call, int from, int to) {
  unsigned value = (unsigned)call * 2654435761u + (unsigned)(from * 131 + to * 7 + 1) * 40503u;
  value ^= value >> 13;
  value *= 0x5bd1e995u;
  return value ^ value >> 15;
}
static void fail(const char* what, int call, int peer) {
  fprintf(stderr, "%s, call %d, rank %d: what comes from rank %d is wrong\n", what, call, rank, peer);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// For some calls all blocks are of one kind, and then of another one; now and then each has its own.
static int kind_of(int call, int from, int to) {
  const unsigned of_call = draw(call / 3, 77, 77) % 5;
  return (int)(of_call < kinds ? of_call : draw(call, from, to) % kinds);
}
static int elements_of(int call, int from, int to) {
  return (int)(draw(call, from, to) / 16 % (most_elements + 1));
}
static int value_of(int call, int from, int to, int i) {
  return (int)(draw(call, to, from) % 1000000) + i;
}
// A block as its sender has it, among bytes that nobody writes.
static void fill(unsigned char* block, int call, int from, int to) {
  const int kind = kind_of(call, from, to);
  memset(block, 0xEE, room);
  for (int i = 0; i < elements_of(call, from, to); ++i) {
    const int value = value_of(call, from, to, i);
    const double as_double = value;
    unsigned char* at = block + i * extents[kind];
    if (kind == of_double) {
      memcpy(at, &as_double, sizeof as_double);
    } else {
      memcpy(at, &value, sizeof value);
    }
  }
}

typedef struct {
  unsigned char sent[most_ranks * room], got[most_ranks * room];
  int sent_counts[most_ranks], got_counts[most_ranks], int_places[most_ranks];
  MPI_Aint places[most_ranks];
  MPI_Datatype sent_types[most_ranks], got_types[most_ranks];
} Blocks;

// Blocks of `peers`, not in their order in memory.
static void set(Blocks* blocks, int call, const int* peers, int count) {
  memset(blocks->got, 0xEE, sizeof blocks->got);
  for (int i = 0; i < count; ++i) {
    const int peer = peers[i];
    blocks->int_places[i] = (count - 1 - i) * room;
    blocks->places[i] = blocks->int_places[i];
    blocks->sent_counts[i] = elements_of(call, rank, peer);
    blocks->got_counts[i] = elements_of(call, peer, rank);
    blocks->sent_types[i] = types[kind_of(call, rank, peer)];
    blocks->got_types[i] = types[kind_of(call, peer, rank)];
    fill(blocks->sent + blocks->int_places[i], call, rank, peer);
  }
}
static void check(const char* what, const Blocks* blocks, int call, const int* peers, int count) {
  static unsigned char wanted[room];
  for (int i = 0; i < count; ++i) {
    fill(wanted, call, peers[i], rank);
    if (memcmp(blocks->got + blocks->int_places[i], wanted, room) != 0) fail(what, call, peers[i]);
  }
}

static void exchange(MPI_Comm graph) {
  static Blocks blocks;
  int all[most_ranks], others[most_ranks], count = 0;
  for (int i = 0; i < size; ++i) {
    all[i] = i;
    if (i != rank) others[count++] = i;
  }
  for (int call = 0; call < calls; ++call) {
    set(&blocks, call, all, size);
    MPI_Alltoallw(blocks.sent, blocks.sent_counts, blocks.int_places, blocks.sent_types, blocks.got,
                  blocks.got_counts, blocks.int_places, blocks.got_types, MPI_COMM_WORLD);
    check("alltoallw", &blocks, call, all, size);
    set(&blocks, call, others, count);
    MPI_Neighbor_alltoallw(blocks.sent, blocks.sent_counts, blocks.places, blocks.sent_types, blocks.got,
                           blocks.got_counts, blocks.places, blocks.got_types, graph);
    check("neighbor_alltoallw", &blocks, call, others, count);
  }
}

// Joins from the left: (a, b) of two maps x -> a x + b, whose order counts.
static void follow(void* in, void* inout, int* length, MPI_Datatype* type) {
  const int* first = in;
  int* second = inout;
  (void)type;
  for (int i = 0; i < *length; ++i) second[i] = first[i] % 1000 * 7 + second[i];
}

static void reduce(MPI_Op own) {
  enum { most = most_ranks * 6 };
  static int in[most], out[most];
  static double in_double[most], out_double[most];
  for (int call = 0; call < calls; ++call) {
    int counts[most_ranks], first = 0, total = 0;
    const int are_even = draw(call / 2, 5, 5) % 2 == 0, is_in_place = draw(call, 6, 6) % 4 == 0;
    const unsigned op_drawn = draw(call / 3, 7, 7) % 4;
    const MPI_Op op = op_drawn == 0 ? MPI_SUM : op_drawn == 1 ? MPI_MAX : op_drawn == 2 ? MPI_MIN : own;
    const int is_double = op != own && draw(call / 4, 8, 8) % 2 == 0;
    for (int i = 0; i < size; ++i) {
      counts[i] = (int)(draw(call, are_even ? 9 : 9 + i, 9) % 5);
      if (i == rank) first = total;
      total += counts[i];
    }
    for (int i = 0; i < total; ++i) {
      in[i] = (int)(draw(call, rank, i) % 900);
      in_double[i] = in[i];
      out[i] = in[i];
      out_double[i] = in[i];
    }
    if (is_double) {
      MPI_Reduce_scatter(is_in_place ? MPI_IN_PLACE : in_double, out_double, counts, MPI_DOUBLE, op,
                         MPI_COMM_WORLD);
    } else {
      MPI_Reduce_scatter(is_in_place ? MPI_IN_PLACE : in, out, counts, MPI_INT, op, MPI_COMM_WORLD);
    }
    for (int i = 0; i < counts[rank]; ++i) {
      int wanted = (int)(draw(call, 0, first + i) % 900);
      for (int peer = 1; peer < size; ++peer) {
        int next = (int)(draw(call, peer, first + i) % 900);
        if (op == MPI_SUM) wanted += next;
        if (op == MPI_MAX) wanted = next > wanted ? next : wanted;
        if (op == MPI_MIN) wanted = next < wanted ? next : wanted;
        if (op == own) wanted = wanted % 1000 * 7 + next;
      }
      if ((is_double ? (int)out_double[i] : out[i]) != wanted) fail("reduce_scatter", call, i);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  types[of_int] = MPI_INT;
  types[of_double] = MPI_DOUBLE;
  MPI_Type_create_resized(MPI_INT, 0, extents[with_gaps], &types[with_gaps]);
  MPI_Type_commit(&types[with_gaps]);
  int others[most_ranks], weights[most_ranks], count = 0;
  for (int i = 0; i < size; ++i) {
    weights[i] = 1;
    if (i != rank) others[count++] = i;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, others, weights, count, others, weights,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Op own;
  MPI_Op_create(follow, 0, &own);
  exchange(graph);
  reduce(own);
  MPI_Op_free(&own);
  MPI_Comm_free(&graph);
  MPI_Type_free(&types[with_gaps]);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
