// SPDX-License-Identifier: BSD-3-Clause
// Messages beyond what an int counts: by the large-count functions, by datatypes that are large themselves,
// and by large elements. For two ranks; everything is checked against the rank numbers.
//   large CASE...        each of bcast_c, allreduce_c, gather_c, contiguous, strided, doubles, blocks
// "native" leaves what comes behind it to the MPI. Prints OK for each. Memory is made once for all cases:
// making it takes longer than what is tested.
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Open MPI has none of these; under Unisono they are there all the same.
#pragma weak MPI_Bcast_c
#pragma weak MPI_Allreduce_c
#pragma weak MPI_Gather_c
#pragma weak unisono_set_algorithm
int MPI_Bcast_c(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Allreduce_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Gather_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
int unisono_set_algorithm(const char*);

static const size_t beyond_int = ((size_t)1 << 31) + 5;
static int rank, size;
static uint64_t case_number;  // what a case before has left must not look right

// Of large pages where the machine has them, which are made faster.
static void* memory(size_t bytes) {
  void* made = NULL;
  if (posix_memalign(&made, (size_t)2 << 20, bytes) != 0) {
    fprintf(stderr, "large: no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  (void)madvise(made, bytes, MADV_HUGEPAGE);
  return made;
}

// For all cases that need one buffer.
static void* buffer_of(size_t bytes) {
  static void* kept = NULL;
  static size_t kept_bytes = 0;
  if (kept_bytes < bytes) {
    free(kept);
    kept = memory(bytes);
    kept_bytes = bytes;
  }
  return kept;
}

enum { word_bytes = sizeof(uint64_t) };

// Eight bytes that say where they stand and whose they are.
static uint64_t word_of(size_t index, int owner) {
  return ((index + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)owner << 56) + case_number;
}

static void fill(unsigned char* bytes, size_t count, int owner) {
  const size_t whole = count / word_bytes * word_bytes;
  for (size_t at = 0; at < whole; at += word_bytes) {
    const uint64_t word = word_of(at, owner);
    memcpy(bytes + at, &word, word_bytes);
  }
  const uint64_t last = word_of(whole, owner);
  memcpy(bytes + whole, &last, count - whole);
}

static void check(const unsigned char* bytes, size_t count, int owner, const char* what) {
  const size_t whole = count / word_bytes * word_bytes;
  size_t at = 0;
  while (at < whole) {
    const uint64_t word = word_of(at, owner);
    if (memcmp(bytes + at, &word, word_bytes) != 0) break;
    at += word_bytes;
  }
  const uint64_t last = word_of(whole, owner);
  if (at == whole && memcmp(bytes + whole, &last, count - whole) == 0) return;
  fprintf(stderr, "rank %d: %s: byte %zu of %zu or one behind it is wrong\n", rank, what, at, count);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// The values of a row of elements, which comes again and again.
enum { values_in_turn = 61, row_values = values_in_turn * 256 };
static void make_row(signed char* row, int factor, int summand) {
  for (int i = 0; i < row_values; ++i) row[i] = (signed char)(i % values_in_turn * factor + summand);
}

static void run_bcast_c(void) {
  unsigned char* bytes = buffer_of(beyond_int);
  const int root = size - 1;
  if (rank == root) fill(bytes, beyond_int, root);
  MPI_Bcast_c(bytes, (MPI_Count)beyond_int, MPI_BYTE, root, MPI_COMM_WORLD);
  check(bytes, beyond_int, root, "MPI_Bcast_c");
}

static void run_allreduce_c(void) {
  signed char row[row_values];
  signed char* values = buffer_of(beyond_int);
  make_row(row, 1, rank);
  for (size_t at = 0; at < beyond_int; at += row_values)
    memcpy(values + at, row, beyond_int - at < row_values ? beyond_int - at : row_values);
  MPI_Allreduce_c(MPI_IN_PLACE, values, (MPI_Count)beyond_int, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
  make_row(row, 2, 1);
  for (size_t at = 0; at < beyond_int; at += row_values) {
    if (memcmp(values + at, row, beyond_int - at < row_values ? beyond_int - at : row_values) == 0) continue;
    fprintf(stderr, "rank %d: MPI_Allreduce_c: an element behind %zu is wrong\n", rank, at);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void run_gather_c(void) {
  static unsigned char* all = NULL;
  unsigned char* own = buffer_of(beyond_int);
  if (rank == 0 && all == NULL) all = memory(2 * beyond_int);
  fill(own, beyond_int, rank);
  MPI_Gather_c(own, (MPI_Count)beyond_int, MPI_BYTE, all, (MPI_Count)beyond_int, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int owner = 0; rank == 0 && owner < size; ++owner)
    check(all + (size_t)owner * beyond_int, beyond_int, owner, "MPI_Gather_c");
}

// One element of a type that covers more than an int counts.
static void run_contiguous(void) {
  MPI_Datatype type;
  const size_t bytes = (((size_t)1 << 28) + 1) * sizeof(double);
  unsigned char* buffer = buffer_of(bytes);
  MPI_Type_contiguous((1 << 28) + 1, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  if (rank == 0) fill(buffer, bytes, 0);
  MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
  check(buffer, bytes, 0, "bcast of one large element");
  MPI_Type_free(&type);
}

// Has to be packed: 32 KiB of every 40. The receiver has it without gaps.
static void run_strided(void) {
  enum { piece = 32 << 10, stride = 40 << 10, pieces = (1 << 16) + 3 };
  MPI_Datatype strided, plain;
  MPI_Type_vector(pieces, piece, stride, MPI_BYTE, &strided);
  MPI_Type_contiguous(piece, MPI_BYTE, &plain);
  MPI_Type_commit(&strided);
  MPI_Type_commit(&plain);
  unsigned char* buffer = buffer_of((size_t)pieces * (rank == 0 ? stride : piece));
  if (rank == 0) {
    for (size_t i = 0; i < pieces; ++i) fill(buffer + i * stride, piece, (int)(i % 200));
    MPI_Bcast(buffer, 1, strided, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(buffer, pieces, plain, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < pieces; ++i) check(buffer + i * piece, piece, (int)(i % 200), "bcast, strided");
  }
  MPI_Type_free(&strided);
  MPI_Type_free(&plain);
}

static void run_doubles(void) {
  const size_t count = ((size_t)1 << 28) + 3;
  double* values = buffer_of(count * sizeof *values);
  for (size_t i = 0; i < count; ++i) values[i] = (double)i + rank;
  MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == 2.0 * (double)i + 1.0) continue;
    fprintf(stderr, "rank %d: allreduce: element %zu is wrong\n", rank, i);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// Blocks that an int counts, results that none does.
static void run_blocks(void) {
  const size_t block = ((size_t)1 << 30) + 8;
  unsigned char* all = buffer_of((size_t)size * block);
  fill(all + (size_t)rank * block, block, rank);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)block, MPI_BYTE, MPI_COMM_WORLD);
  for (int owner = 0; owner < size; ++owner) check(all + (size_t)owner * block, block, owner, "allgather");
}

static void leave_to_mpi(void) {
  if (unisono_set_algorithm == NULL || unisono_set_algorithm("all:native") != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"bcast_c", run_bcast_c},       {"allreduce_c", run_allreduce_c}, {"gather_c", run_gather_c},
               {"contiguous", run_contiguous}, {"strided", run_strided},         {"doubles", run_doubles},
               {"blocks", run_blocks},         {"native", leave_to_mpi}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int argument = 1; argument < argc && size == 2; ++argument) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
      if (strcmp(argv[argument], cases[i].name) != 0) continue;
      ++case_number;
      cases[i].run();
      if (rank == 0) puts("OK");
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
