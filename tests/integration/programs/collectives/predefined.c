// SPDX-License-Identifier: BSD-3-Clause
// Every predefined datatype through the operations that move data: what arrives is what was sent, byte by
// byte, and the gaps inside a pair's extent count for nothing.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { largest_extent = 64, untouched = 0x5A };

typedef struct {
  const char* name;
  MPI_Datatype type;
} Named;

// How the bytes of one element lie: all of its extent, or a value and an index of `tail` bytes with a gap
// between them or behind.
typedef struct {
  const char* name;
  MPI_Datatype type;
  int extent;
  int head, tail, tail_at;
} Bytes;

static unsigned char byte_of(uint32_t seed, int source, int destination, long index) {
  return (unsigned char)hash(seed, (uint32_t)source, (uint32_t)destination, (uint32_t)index);
}

static int is_data(const Bytes* bytes, int at) {
  return at < bytes->head || (at >= bytes->tail_at && at < bytes->tail_at + bytes->tail);
}

static void fill(const Bytes* bytes, unsigned char* to, long count, uint32_t seed, int source,
                 int destination) {
  for (long i = 0; i < count * bytes->extent; ++i) {
    if (is_data(bytes, (int)(i % bytes->extent))) to[i] = byte_of(seed, source, destination, i);
  }
}

static int is_filled(const Bytes* bytes, const unsigned char* from, long count, uint32_t seed, int source,
                     int destination) {
  for (long i = 0; i < count * bytes->extent; ++i) {
    if (is_data(bytes, (int)(i % bytes->extent)) && from[i] != byte_of(seed, source, destination, i))
      return 0;
  }
  return 1;
}

static int call(Operation operation, const Bytes* bytes, const void* from, void* to, int count, int root) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  switch (operation) {
    case bcast:
      return MPI_Bcast(to, count, bytes->type, root, comm);
    case gather:
      return MPI_Gather(from, count, bytes->type, to, count, bytes->type, root, comm);
    case scatter:
      return MPI_Scatter(from, count, bytes->type, to, count, bytes->type, root, comm);
    case allgather:
      return MPI_Allgather(from, count, bytes->type, to, count, bytes->type, comm);
    default:
      return MPI_Alltoall(from, count, bytes->type, to, count, bytes->type, comm);
  }
}

static void check_operation(Operation operation, const Bytes* bytes, int count, int root) {
  static uint32_t seed = 40000;
  const size_t block = (size_t)count * (size_t)bytes->extent;
  const int is_root = world_rank == root;
  const int sent = operation == alltoall || (operation == scatter && is_root) ? world_size : 1;
  const int received =
      operation == allgather || operation == alltoall || (operation == gather && is_root) ? world_size : 1;
  unsigned char* from = (unsigned char*)malloc(block * (size_t)sent + 1);
  unsigned char* to = (unsigned char*)malloc(block * (size_t)received + 1);
  memset(from, untouched, block * (size_t)sent + 1);
  memset(to, untouched, block * (size_t)received + 1);
  ++seed;
  for (int b = 0; b < sent; ++b) fill(bytes, from + (size_t)b * block, count, seed, world_rank, b);
  if (operation == bcast && is_root) fill(bytes, to, count, seed, root, 0);
  int is_right = call(operation, bytes, from, to, count, root) == MPI_SUCCESS;
  for (int b = 0; b < received && is_right; ++b) {
    const int source = operation == bcast || operation == scatter ? root : b;
    const int destination = operation == scatter || operation == alltoall ? world_rank : 0;
    if (operation == gather && !is_root) break;
    is_right = is_filled(bytes, to + (size_t)b * block, count, seed, source, destination);
  }
  is_right = is_right && to[block * (size_t)received] == untouched;
  if (is_right) {
    check_passed();
  } else {
    check_failed("%s of %d %s is wrong", operation_names[operation], count, bytes->name);
  }
  free(from);
  free(to);
}

// False for a type that this MPI does not have: its handle is null, its size makes no sense, or asking is an
// error.
static int describe(const Named* named, Bytes* bytes) {
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  if (named->type == MPI_DATATYPE_NULL) return 0;
  if (MPI_Type_size(named->type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED || size <= 0) return 0;
  if (MPI_Type_get_extent(named->type, &low, &extent) != MPI_SUCCESS || extent > largest_extent) return 0;
  const int index_size = (int)sizeof(int);
  bytes->name = named->name;
  bytes->type = named->type;
  bytes->extent = (int)extent;
  bytes->head = size == extent ? size : size - index_size;
  bytes->tail = size == extent ? 0 : index_size;
  bytes->tail_at = (bytes->head + index_size - 1) / index_size * index_size;
  return 1;
}

#define NAMED(type) \
  { #type, type }

void section_predefined(void) {
  const Named types[] = {
      NAMED(MPI_CHAR),
      NAMED(MPI_WCHAR),
      NAMED(MPI_SIGNED_CHAR),
      NAMED(MPI_UNSIGNED_CHAR),
      NAMED(MPI_SHORT),
      NAMED(MPI_UNSIGNED_SHORT),
      NAMED(MPI_INT),
      NAMED(MPI_UNSIGNED),
      NAMED(MPI_LONG),
      NAMED(MPI_UNSIGNED_LONG),
      NAMED(MPI_LONG_LONG),
      NAMED(MPI_UNSIGNED_LONG_LONG),
      NAMED(MPI_FLOAT),
      NAMED(MPI_DOUBLE),
      NAMED(MPI_LONG_DOUBLE),
      NAMED(MPI_C_BOOL),
      NAMED(MPI_C_FLOAT_COMPLEX),
      NAMED(MPI_C_DOUBLE_COMPLEX),
      NAMED(MPI_INT8_T),
      NAMED(MPI_INT16_T),
      NAMED(MPI_INT32_T),
      NAMED(MPI_INT64_T),
      NAMED(MPI_UINT8_T),
      NAMED(MPI_UINT16_T),
      NAMED(MPI_UINT32_T),
      NAMED(MPI_UINT64_T),
      NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
      NAMED(MPI_AINT),
      NAMED(MPI_OFFSET),
      NAMED(MPI_COUNT),
      NAMED(MPI_BYTE),
      NAMED(MPI_PACKED),
      NAMED(MPI_FLOAT_INT),
      NAMED(MPI_DOUBLE_INT),
      NAMED(MPI_LONG_INT),
      NAMED(MPI_2INT),
      NAMED(MPI_SHORT_INT),
      NAMED(MPI_LONG_DOUBLE_INT),
      NAMED(MPI_CXX_BOOL),
      NAMED(MPI_CHARACTER),
      NAMED(MPI_LOGICAL),
      NAMED(MPI_CXX_FLOAT_COMPLEX),
      NAMED(MPI_INTEGER),
      NAMED(MPI_REAL),
      NAMED(MPI_CXX_DOUBLE_COMPLEX),
      NAMED(MPI_COMPLEX),
      NAMED(MPI_DOUBLE_COMPLEX),
      NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
      NAMED(MPI_2REAL),
      NAMED(MPI_2INTEGER),
      NAMED(MPI_2DOUBLE_PRECISION),
      NAMED(MPI_INTEGER1),
      NAMED(MPI_INTEGER2),
      NAMED(MPI_DOUBLE_PRECISION),
      NAMED(MPI_INTEGER4),
      NAMED(MPI_INTEGER8),
      NAMED(MPI_REAL4),
      NAMED(MPI_REAL8),
      NAMED(MPI_COMPLEX8),
      NAMED(MPI_COMPLEX16),
  };
  const Operation operations[] = {bcast, gather, scatter, allgather, alltoall};
  return_errors(1);
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    Bytes bytes;
    if (!describe(&types[t], &bytes)) continue;
    for (int o = 0; o < 5; ++o) {
      if (!is_tested(operations[o])) continue;
      check_operation(operations[o], &bytes, 3, (int)t % world_size);
      check_operation(operations[o], &bytes, t % 2 ? 700 : 1, (int)t % world_size);
    }
  }
  return_errors(0);
}
