// SPDX-License-Identifier: BSD-3-Clause
// Operators of the user: composition of affine maps (associative, not commutative) on several datatypes, and
// sums.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { modulus = 10007, commutative = 1, in_order = 0, untouched = 0x3C };

// The map x -> factor * x + offset, modulo a prime. `gap` bytes lie between the two in memory.
typedef struct {
  unsigned factor, offset;
} Map;

typedef struct {
  const char* name;
  MPI_Datatype type;
  int offset_at;
  int extent;
} MapType;

static Map compose(Map first, Map second) {
  Map both;
  both.factor = first.factor * second.factor % modulus;
  both.offset = (second.factor * first.offset + second.offset) % modulus;
  return both;
}

static Map map_for(uint32_t seed, int rank, long index) {
  const uint32_t h = hash(seed, (uint32_t)rank, 3, (uint32_t)index);
  Map map;
  map.factor = 1 + h % 10000;
  map.offset = h / 16384 % modulus;
  return map;
}

// The handle that an operator is called with must describe the same layout as the one that the call was
// given.
static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint low, extent;
  MPI_Type_get_extent(type, &low, &extent);
  return extent;
}

static void compose_all(const unsigned char* in, unsigned char* inout, long count, MPI_Aint extent) {
  const int offset_at = extent == (MPI_Aint)sizeof(Map) ? 4 : 12;
  for (long i = 0; i < count; ++i, in += extent, inout += extent) {
    Map first, second;
    memcpy(&first.factor, in, 4);
    memcpy(&first.offset, in + offset_at, 4);
    memcpy(&second.factor, inout, 4);
    memcpy(&second.offset, inout + offset_at, 4);
    const Map both = compose(first, second);
    memcpy(inout, &both.factor, 4);
    memcpy(inout + offset_at, &both.offset, 4);
  }
}

static void compose_operator(void* in, void* inout, int* count, MPI_Datatype* type) {
  compose_all((const unsigned char*)in, (unsigned char*)inout, *count, extent_of(*type));
}

static void sum_operator(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type != MPI_INT) check_failed("a user's operator was called with another datatype");
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void store_map(const MapType* type, unsigned char* at, Map map) {
  memcpy(at, &map.factor, 4);
  memcpy(at + type->offset_at, &map.offset, 4);
}

static int is_map(const MapType* type, const unsigned char* at, Map map) {
  unsigned factor, offset;
  memcpy(&factor, at, 4);
  memcpy(&offset, at + type->offset_at, 4);
  for (int i = 4; i < type->extent; ++i) {
    if ((i < type->offset_at || i >= type->offset_at + 4) && at[i] != untouched) return 0;
  }
  return factor == map.factor && offset == map.offset;
}

// One reduction of maps. `in_place` where the operation and this rank allow it.
typedef struct {
  Operation operation;
  const MapType* type;
  MPI_Op op;
  long count;  // of the vector, or of a block; of uneven blocks each has a multiple of it
  int root, in_place;
  MPI_Comm comm;
} Reduction;

static int length_of(const Reduction* reduction, int rank) {
  const int is_uneven = reduction->operation == reduce_scatter;
  return (int)reduction->count * (is_uneven ? rank % 3 : 1);
}

static int start_of(const Reduction* reduction, int rank) {
  int start = 0;
  for (int before = 0; before < rank; ++before) start += length_of(reduction, before);
  return start;
}

static int is_scattered(const Reduction* reduction) {
  return reduction->operation == reduce_scatter_block || reduction->operation == reduce_scatter;
}

static int call(const Reduction* r, const void* input, void* to) {
  const MPI_Datatype type = r->type->type;
  int counts[max_ranks];
  for (int rank = 0; rank < max_ranks; ++rank) counts[rank] = length_of(r, rank);
  switch (r->operation) {
    case reduce:
      return MPI_Reduce(input, to, (int)r->count, type, r->op, r->root, r->comm);
    case scan:
      return MPI_Scan(input, to, (int)r->count, type, r->op, r->comm);
    case exscan:
      return MPI_Exscan(input, to, (int)r->count, type, r->op, r->comm);
    case reduce_scatter_block:
      return MPI_Reduce_scatter_block(input, to, (int)r->count, type, r->op, r->comm);
    case reduce_scatter:
      return MPI_Reduce_scatter(input, to, counts, type, r->op, r->comm);
    default:
      return MPI_Allreduce(input, to, (int)r->count, type, r->op, r->comm);
  }
}

// How many ranks' maps are joined in what this rank gets; 0: it gets nothing.
static int joined_ranks(const Reduction* reduction, int rank, int size) {
  if (reduction->operation == reduce) return rank == reduction->root ? size : 0;
  if (reduction->operation == scan) return rank + 1;
  return reduction->operation == exscan ? rank : size;
}

static void check_maps(const Reduction* r) {
  static uint32_t seed = 20000;
  if (!is_tested(r->operation)) return;
  const MapType* type = r->type;
  int rank, size;
  MPI_Comm_rank(r->comm, &rank);
  MPI_Comm_size(r->comm, &size);
  const int joined = joined_ranks(r, rank, size);
  const int in_place = r->in_place && (r->operation != reduce || rank == r->root);
  const long sent = is_scattered(r) ? start_of(r, size) : r->count;
  const long received = is_scattered(r) ? length_of(r, rank) : r->count;
  const long first = is_scattered(r) ? start_of(r, rank) : 0;
  const size_t length = (size_t)sent * (size_t)type->extent + 1;
  unsigned char* from = (unsigned char*)malloc(length);
  unsigned char* to = (unsigned char*)malloc(length);
  memset(from, untouched, length);
  memset(to, untouched, length);
  ++seed;
  for (long i = 0; i < sent; ++i) {
    store_map(type, (in_place ? to : from) + i * type->extent, map_for(seed, rank, i));
  }
  const int error = call(r, in_place ? MPI_IN_PLACE : from, to);
  if (error != MPI_SUCCESS) check_failed("maps (%s): error %d", type->name, error);
  long wrong = -1;
  for (long i = 0; joined > 0 && wrong < 0 && i < received; ++i) {
    Map expected = map_for(seed, 0, first + i);
    for (int other = 1; other < joined; ++other) {
      expected = compose(expected, map_for(seed, other, first + i));
    }
    if (!is_map(type, to + i * type->extent, expected)) wrong = i;
  }
  if (wrong < 0) {
    check_passed();
  } else {
    check_failed("composition of %ld maps (%s), %s%s, root %d: element %ld is wrong", r->count, type->name,
                 operation_names[r->operation], r->in_place ? " in place" : "", r->root, wrong);
  }
  free(from);
  free(to);
}

static Reduction reduction_of(Operation operation, const MapType* type, MPI_Op op, long count) {
  Reduction reduction;
  reduction.operation = operation;
  reduction.type = type;
  reduction.op = op;
  reduction.count = count;
  reduction.root = 0;
  reduction.in_place = 0;
  reduction.comm = MPI_COMM_WORLD;
  return reduction;
}

static void check_sums(MPI_Op op, long count, int root) {
  static uint32_t seed = 30000;
  if (!is_tested(root < 0 ? allreduce : reduce)) return;
  int* from = (int*)malloc(((size_t)count + 1) * sizeof *from);
  int* to = (int*)malloc(((size_t)count + 1) * sizeof *to);
  ++seed;
  for (long i = 0; i < count; ++i) from[i] = value_of(seed, world_rank, 0, i) % 1000;
  if (root < 0) {
    MPI_Allreduce(from, to, (int)count, MPI_INT, op, MPI_COMM_WORLD);
  } else {
    MPI_Reduce(from, to, (int)count, MPI_INT, op, root, MPI_COMM_WORLD);
  }
  int is_right = 1;
  for (long i = 0; (root < 0 || world_rank == root) && i < count; ++i) {
    int expected = 0;
    for (int rank = 0; rank < world_size; ++rank) expected += value_of(seed, rank, 0, i) % 1000;
    if (to[i] != expected) is_right = 0;
  }
  if (is_right) check_passed();
  if (!is_right) check_failed("a user's sum of %ld ints, root %d, is wrong", count, root);
  free(from);
  free(to);
}

#if HAS_LARGE_COUNTS
static void compose_operator_large(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  compose_all((const unsigned char*)in, (unsigned char*)inout, (long)*count, extent_of(*type));
}
#endif

static MapType make_gappy(void) {
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 12};
  const MPI_Datatype members[] = {MPI_UNSIGNED, MPI_UNSIGNED};
  MapType type = {"with gaps", MPI_DATATYPE_NULL, 12, 24};
  MPI_Datatype natural;
  MPI_Type_create_struct(2, lengths, displacements, members, &natural);
  MPI_Type_create_resized(natural, 0, type.extent, &type.type);
  MPI_Type_commit(&type.type);
  MPI_Type_free(&natural);
  return type;
}

void section_user_operators(void) {
  const long counts[] = {0, 1, 2, 5, 1000, 20000};
  MapType types[2] = {{"contiguous", MPI_DATATYPE_NULL, 4, sizeof(Map)}, make_gappy()};
  MPI_Op composition, sum;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &types[0].type);
  MPI_Type_commit(&types[0].type);
  MPI_Op_create(compose_operator, in_order, &composition);
  MPI_Op_create(sum_operator, commutative, &sum);
  for (int c = 0; c < 6; ++c) {
    for (int t = 0; t < 2; ++t) {
      for (int operation = reduce; operation < operation_count; ++operation) {
        if (!is_reduction((Operation)operation) || (t == 1 && has_gap_defect((Operation)operation))) continue;
        Reduction reduction = reduction_of((Operation)operation, &types[t], composition, counts[c]);
        reduction.root = c % world_size;
        reduction.in_place = operation == reduce ? t : c % 2;
        check_maps(&reduction);
      }
    }
    check_sums(sum, counts[c], -1);
    check_sums(sum, counts[c], c % world_size);
  }
  for (int root = 0; root < world_size; ++root) {
    Reduction reduction = reduction_of(reduce, &types[root % 2], composition, 3);
    reduction.root = root;
    check_maps(&reduction);
  }
#if HAS_LARGE_COUNTS
  MPI_Op large;
  MPI_Op_create_c(compose_operator_large, in_order, &large);
  Reduction reduction = reduction_of(allreduce, &types[0], large, 6);
  check_maps(&reduction);
  reduction = reduction_of(reduce, &types[1], large, 600);
  reduction.root = world_size - 1;
  reduction.in_place = 1;
  check_maps(&reduction);
  MPI_Op_free(&large);
#endif
  MPI_Op_free(&composition);
  MPI_Op_free(&sum);
  for (int t = 0; t < 2; ++t) MPI_Type_free(&types[t].type);
}
