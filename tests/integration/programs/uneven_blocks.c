// SPDX-License-Identifier: BSD-3-Clause
// Gathers, scatters and exchanges of uneven blocks, short ones and long ones in one call, lengths drawn anew
// for each call. Every rank draws the lengths of all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 16, calls = 60, most_length = 300000 };

static int rank, size;

// Around what lines of shared memory take, what a ring takes, what goes by the kernel.
static const int lengths[] = {0,    0,    1,     40,    280,   281,   1024,
                              1025, 4096, 16383, 32768, 32769, 74000, most_length};

static unsigned draw(unsigned call, int from, int to) {
  unsigned value = call * 2654435761u + (unsigned)(from * 131 + to * 7 + 1) * 40503u;
  value ^= value >> 13;
  value *= 0x5bd1e995u;
  return value ^ value >> 15;
}
static int length(int call, int from, int to) {
  return lengths[draw((unsigned)call, from, to) % (sizeof lengths / sizeof lengths[0])];
}
static void fill(unsigned char* block, int call, int from, int to) {
  const unsigned first = draw((unsigned)call, to, from);
  for (int i = 0; i < length(call, from, to); ++i)
    block[i] = (unsigned char)(first + (unsigned)i * 31u + (unsigned)i / 251u);
}
static void expect(const unsigned char* block, int call, int from, int to) {
  static unsigned char wanted[most_length];
  fill(wanted, call, from, to);
  if (memcmp(block, wanted, (size_t)length(call, from, to)) == 0) return;
  fprintf(stderr, "call %d: the block from %d to %d is wrong\n", call, from, to);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  unsigned char* sent = malloc((size_t)size * most_length);
  unsigned char* got = malloc((size_t)size * most_length);
  int sent_lengths[most_ranks], got_lengths[most_ranks], places[most_ranks];
  MPI_Datatype types[most_ranks];
  for (int call = 0; call < calls; ++call) {
    const int kind = call % 4, root = call / 4 % size;
    const int is_root = rank == root;
    for (int i = 0; i < size; ++i) {
      sent_lengths[i] = length(call, rank, i);
      got_lengths[i] = length(call, i, rank);
      // Not in the order of the ranks.
      places[i] = (size - 1 - i) * most_length;
      types[i] = MPI_BYTE;
      fill(sent + places[i], call, rank, i);
    }
    memset(got, 0xEE, (size_t)size * most_length);
    if (kind == 0) {
      MPI_Gatherv(sent + places[root], sent_lengths[root], MPI_BYTE, got, got_lengths, places, MPI_BYTE, root,
                  MPI_COMM_WORLD);
    } else if (kind == 1) {
      MPI_Scatterv(sent, sent_lengths, places, MPI_BYTE, got + places[root], got_lengths[root], MPI_BYTE,
                   root, MPI_COMM_WORLD);
    } else if (kind == 2) {
      MPI_Alltoallv(sent, sent_lengths, places, MPI_BYTE, got, got_lengths, places, MPI_BYTE, MPI_COMM_WORLD);
    } else {
      MPI_Alltoallw(sent, sent_lengths, places, types, got, got_lengths, places, types, MPI_COMM_WORLD);
    }
    for (int i = 0; i < size; ++i) {
      if (kind >= 2 || (kind == 0 && is_root) || (kind == 1 && i == root))
        expect(got + places[i], call, i, rank);
    }
  }
  if (rank == 0) puts("OK");
  free(sent);
  free(got);
  MPI_Finalize();
  return 0;
}
