// SPDX-License-Identifier: BSD-3-Clause
// Every predefined datatype with every predefined operator that MPI allows on it, in reduce and allreduce.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

// other_integer: Fortran's, and those for addresses and counts, which Open MPI compares as unsigned.
typedef enum {
  signed_integer,
  unsigned_integer,
  other_integer,
  floating,
  complex_number,
  logical,
  bytes
} Kind;
typedef enum {
  op_max,
  op_min,
  op_sum,
  op_prod,
  op_land,
  op_band,
  op_lor,
  op_bor,
  op_lxor,
  op_bxor,
  op_count
} OpIndex;

enum { largest_element = 64, canary_bytes = 32, canary = 0x5A };

static const char* const op_names[op_count] = {"MAX",  "MIN", "SUM", "PROD", "LAND",
                                               "BAND", "LOR", "BOR", "LXOR", "BXOR"};

typedef struct {
  const char* name;
  Kind kind;
  MPI_Datatype type;
} TypeEntry;

// What an element stands for, in a form that holds all kinds exactly.
typedef struct {
  int64_t real, imaginary;
} Value;

static MPI_Op op_handle(OpIndex op) {
  const MPI_Op handles[op_count] = {MPI_MAX,  MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                                    MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};
  return handles[op];
}

static int is_integer(Kind kind) {
  return kind == signed_integer || kind == unsigned_integer || kind == other_integer;
}

// MPI 4.1, section 6.9.2.
static int is_allowed(Kind kind, OpIndex op) {
  switch (op) {
    case op_max:
    case op_min:
      return is_integer(kind) || kind == floating;
    case op_sum:
    case op_prod:
      return kind != logical && kind != bytes;
    case op_land:
    case op_lor:
    case op_lxor:
      return kind == signed_integer || kind == unsigned_integer || kind == logical;
    default:
      return is_integer(kind) || kind == bytes;
  }
}

// Bitwise operators take any bits, here those of both numbers; values of others stay so small that all are
// exact.
static Value value_for(Kind kind, OpIndex op, uint32_t seed, int rank, int size, long index) {
  const uint32_t h = hash(seed, (uint32_t)rank, (uint32_t)op, (uint32_t)index);
  Value value = {0, 0};
  switch (op) {
    case op_max:
    case op_min:
      value.real = (int64_t)(h % 100) - (kind == unsigned_integer || kind == other_integer ? 0 : 50);
      break;
    case op_sum:
      value.real =
          kind == unsigned_integer || kind == other_integer ? (int64_t)(h % 4) : (int64_t)(h % 7) - 3;
      value.imaginary = kind == complex_number ? (int64_t)(h / 16 % 7) - 3 : 0;
      break;
    case op_prod:
      // At most six ranks give a two, so that no type overflows.
      value.real = (rank + index) % size < 6 ? 1 + (int64_t)(h % 2) : 1;
      if (kind == complex_number && h / 4 % 2 == 1) {
        value.imaginary = value.real;
        value.real = 0;
      }
      if ((kind == signed_integer || kind == floating) && h / 8 % 2 == 1) value.real = -value.real;
      break;
    case op_land:
    case op_lor:
    case op_lxor:
      value.real = h % 3 != 0;
      break;
    default:
      value.real = (int64_t)(((uint64_t)h << 32) | hash(h, 1, 2, 3));
      break;
  }
  return value;
}

static Value combine(OpIndex op, Value a, Value b) {
  Value c = {0, 0};
  switch (op) {
    case op_max:
      c.real = a.real > b.real ? a.real : b.real;
      break;
    case op_min:
      c.real = a.real < b.real ? a.real : b.real;
      break;
    case op_sum:
      c.real = a.real + b.real;
      c.imaginary = a.imaginary + b.imaginary;
      break;
    case op_prod:
      c.real = a.real * b.real - a.imaginary * b.imaginary;
      c.imaginary = a.real * b.imaginary + a.imaginary * b.real;
      break;
    case op_land:
      c.real = a.real && b.real;
      break;
    case op_lor:
      c.real = a.real || b.real;
      break;
    case op_lxor:
      c.real = !a.real != !b.real;
      break;
    case op_band:
      c.real = a.real & b.real;
      break;
    case op_bor:
      c.real = a.real | b.real;
      break;
    default:
      c.real = a.real ^ b.real;
      break;
  }
  return c;
}

static void store_real(unsigned char* at, int size, int64_t value) {
  const float single = (float)value;
  const double twice = (double)value;
  const long double extended = (long double)value;
  if (size == sizeof single) {
    memcpy(at, &single, sizeof single);
  } else if (size == sizeof twice) {
    memcpy(at, &twice, sizeof twice);
  } else {
    memcpy(at, &extended, sizeof extended);
  }
}

static int64_t load_real(const unsigned char* at, int size) {
  float single;
  double twice;
  long double extended;
  if (size == sizeof single) {
    memcpy(&single, at, sizeof single);
    return (int64_t)single;
  }
  if (size == sizeof twice) {
    memcpy(&twice, at, sizeof twice);
    return (int64_t)twice;
  }
  memcpy(&extended, at, sizeof extended);
  return (int64_t)extended;
}

static void store(unsigned char* at, Kind kind, int size, Value value) {
  if (kind == floating) {
    store_real(at, size, value.real);
  } else if (kind == complex_number) {
    store_real(at, size / 2, value.real);
    store_real(at + size / 2, size / 2, value.imaginary);
  } else {
    memcpy(at, &value.real, (size_t)size);  // little endian, as all machines that Unisono runs on
  }
}

static int is_equal(const unsigned char* at, Kind kind, int size, Value value) {
  unsigned char expected[largest_element];
  if (kind == floating) return load_real(at, size) == value.real;
  if (kind == complex_number) {
    return load_real(at, size / 2) == value.real && load_real(at + size / 2, size / 2) == value.imaginary;
  }
  store(expected, kind, size, value);
  return memcmp(at, expected, (size_t)size) == 0;
}

static void check_one(const TypeEntry* entry, int size, OpIndex op, long count, int root, int in_place) {
  static uint32_t seed = 5000;
  const int is_allreduce = root < 0;
  if (!is_tested(is_allreduce ? allreduce : reduce)) return;
  Trial trial = plain_trial(MPI_COMM_WORLD, root, count, seed);
  trial.is_in_place = in_place;
  if (!is_allreduce && has_host_defect(reduce, &trial)) return;
  const size_t length = (size_t)count * (size_t)size;
  unsigned char* from = (unsigned char*)malloc(length + canary_bytes);
  unsigned char* to = (unsigned char*)malloc(length + canary_bytes);
  unsigned char expected_canary[canary_bytes];
  memset(expected_canary, canary, sizeof expected_canary);
  memset(from, canary, length + canary_bytes);
  memset(to, canary, length + canary_bytes);
  const int has_result = is_allreduce || world_rank == root;
  const int in_place_here = in_place && has_result;
  ++seed;
  for (long i = 0; i < count; ++i) {
    store((in_place_here ? to : from) + i * size, entry->kind, size,
          value_for(entry->kind, op, seed, world_rank, world_size, i));
  }
  const void* input = in_place_here ? MPI_IN_PLACE : from;
  const int error = is_allreduce
                        ? MPI_Allreduce(input, to, (int)count, entry->type, op_handle(op), MPI_COMM_WORLD)
                        : MPI_Reduce(input, to, (int)count, entry->type, op_handle(op), root, MPI_COMM_WORLD);
  if (error != MPI_SUCCESS) check_failed("%s of %s: error %d", op_names[op], entry->name, error);
  int is_right = memcmp(to + (has_result ? length : 0), expected_canary, canary_bytes) == 0;
  for (long i = 0; has_result && i < count; ++i) {
    Value expected = value_for(entry->kind, op, seed, 0, world_size, i);
    for (int rank = 1; rank < world_size; ++rank) {
      expected = combine(op, expected, value_for(entry->kind, op, seed, rank, world_size, i));
    }
    if (!is_equal(to + i * size, entry->kind, size, expected)) is_right = 0;
  }
  if (is_right) {
    check_passed();
  } else {
    check_failed("%s of %ld %s (%d bytes each), %s%s is wrong", op_names[op], count, entry->name, size,
                 is_allreduce ? "allreduce" : "reduce", in_place ? " in place" : "");
  }
  free(from);
  free(to);
}

// An MPI without Fortran has no Fortran types: it says so by a null handle, a size that makes no sense, or an
// error.
static int usable_size(const TypeEntry* entry) {
  int size = 0;
  if (entry->type == MPI_DATATYPE_NULL) return 0;
  if (MPI_Type_size(entry->type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED || size > largest_element)
    return 0;
  return size;
}

static void check_type(const TypeEntry* entry) {
  static int turn = 0;
  const int size = usable_size(entry);
  if (size <= 0) return;
  for (int op = 0; op < op_count; ++op) {
    if (!is_allowed(entry->kind, (OpIndex)op)) continue;
    ++turn;
    check_one(entry, size, (OpIndex)op, turn % 3 == 0 ? 100 : 5, -1, turn % 2);
    check_one(entry, size, (OpIndex)op, turn % 4 == 0 ? 100 : 3, turn % world_size, turn % 2 == 0);
  }
}

void section_types(void) {
  const TypeEntry types[] = {
      {"MPI_SIGNED_CHAR", signed_integer, MPI_SIGNED_CHAR},
      {"MPI_UNSIGNED_CHAR", unsigned_integer, MPI_UNSIGNED_CHAR},
      {"MPI_SHORT", signed_integer, MPI_SHORT},
      {"MPI_UNSIGNED_SHORT", unsigned_integer, MPI_UNSIGNED_SHORT},
      {"MPI_INT", signed_integer, MPI_INT},
      {"MPI_UNSIGNED", unsigned_integer, MPI_UNSIGNED},
      {"MPI_LONG", signed_integer, MPI_LONG},
      {"MPI_UNSIGNED_LONG", unsigned_integer, MPI_UNSIGNED_LONG},
      {"MPI_LONG_LONG_INT", signed_integer, MPI_LONG_LONG_INT},
      {"MPI_UNSIGNED_LONG_LONG", unsigned_integer, MPI_UNSIGNED_LONG_LONG},
      {"MPI_INT8_T", signed_integer, MPI_INT8_T},
      {"MPI_INT16_T", signed_integer, MPI_INT16_T},
      {"MPI_INT32_T", signed_integer, MPI_INT32_T},
      {"MPI_INT64_T", signed_integer, MPI_INT64_T},
      {"MPI_UINT8_T", unsigned_integer, MPI_UINT8_T},
      {"MPI_UINT16_T", unsigned_integer, MPI_UINT16_T},
      {"MPI_UINT32_T", unsigned_integer, MPI_UINT32_T},
      {"MPI_UINT64_T", unsigned_integer, MPI_UINT64_T},
      {"MPI_AINT", other_integer, MPI_AINT},
      {"MPI_OFFSET", other_integer, MPI_OFFSET},
      {"MPI_COUNT", other_integer, MPI_COUNT},
      {"MPI_FLOAT", floating, MPI_FLOAT},
      {"MPI_DOUBLE", floating, MPI_DOUBLE},
      {"MPI_LONG_DOUBLE", floating, MPI_LONG_DOUBLE},
      {"MPI_C_FLOAT_COMPLEX", complex_number, MPI_C_FLOAT_COMPLEX},
      {"MPI_C_DOUBLE_COMPLEX", complex_number, MPI_C_DOUBLE_COMPLEX},
      {"MPI_C_LONG_DOUBLE_COMPLEX", complex_number, MPI_C_LONG_DOUBLE_COMPLEX},
      {"MPI_C_BOOL", logical, MPI_C_BOOL},
      {"MPI_BYTE", bytes, MPI_BYTE},
      {"MPI_INTEGER", other_integer, MPI_INTEGER},
      {"MPI_LOGICAL", logical, MPI_LOGICAL},
      {"MPI_REAL", floating, MPI_REAL},
      {"MPI_DOUBLE_PRECISION", floating, MPI_DOUBLE_PRECISION},
      {"MPI_COMPLEX", complex_number, MPI_COMPLEX},
      {"MPI_DOUBLE_COMPLEX", complex_number, MPI_DOUBLE_COMPLEX},
      {"MPI_INTEGER1", other_integer, MPI_INTEGER1},
      {"MPI_INTEGER2", other_integer, MPI_INTEGER2},
      {"MPI_INTEGER4", other_integer, MPI_INTEGER4},
      {"MPI_INTEGER8", other_integer, MPI_INTEGER8},
      {"MPI_REAL4", floating, MPI_REAL4},
      {"MPI_REAL8", floating, MPI_REAL8},
      {"MPI_COMPLEX8", complex_number, MPI_COMPLEX8},
      {"MPI_COMPLEX16", complex_number, MPI_COMPLEX16},
      {"MPI_CXX_BOOL", logical, MPI_CXX_BOOL},
      {"MPI_CXX_FLOAT_COMPLEX", complex_number, MPI_CXX_FLOAT_COMPLEX},
      {"MPI_CXX_DOUBLE_COMPLEX", complex_number, MPI_CXX_DOUBLE_COMPLEX},
      {"MPI_CXX_LONG_DOUBLE_COMPLEX", complex_number, MPI_CXX_LONG_DOUBLE_COMPLEX},
  };
  return_errors(1);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) check_type(&types[i]);
  return_errors(0);
}

// ---- pairs: MINLOC and MAXLOC

typedef struct {
  const char* name;
  MPI_Datatype type;
  int value_size;  // of the first member
  int is_floating;
  int index_offset;
  int extent;
  int is_twice;  // Fortran's: the index is of the value's type
} PairEntry;

static Value pair_for(uint32_t seed, int rank, long index) {
  Value pair;
  pair.real = (int64_t)(hash(seed, (uint32_t)rank, 9, (uint32_t)index) % 5) - 2;
  pair.imaginary = rank * 100 + index;
  return pair;
}

static Value better_pair(int is_max, Value a, Value b) {
  if (a.real == b.real) return a.imaginary < b.imaginary ? a : b;
  return (a.real > b.real) == (is_max != 0) ? a : b;
}

static Kind value_kind(const PairEntry* entry) {
  return entry->is_floating ? floating : signed_integer;
}

static Kind index_kind(const PairEntry* entry) {
  return entry->is_twice ? value_kind(entry) : signed_integer;
}

static int index_size(const PairEntry* entry) {
  return entry->is_twice ? entry->value_size : (int)sizeof(int);
}

static void store_pair(const PairEntry* entry, unsigned char* at, Value pair) {
  const Value location = {pair.imaginary, 0};
  store(at, value_kind(entry), entry->value_size, pair);
  store(at + entry->index_offset, index_kind(entry), index_size(entry), location);
}

static int is_pair(const PairEntry* entry, const unsigned char* at, Value pair) {
  const Value location = {pair.imaginary, 0};
  return is_equal(at, value_kind(entry), entry->value_size, pair) &&
         is_equal(at + entry->index_offset, index_kind(entry), index_size(entry), location);
}

static void check_pair(const PairEntry* entry, int is_max, long count, int root, int in_place) {
  static uint32_t seed = 9000;
  const int is_allreduce = root < 0;
  if (!is_tested(is_allreduce ? allreduce : reduce)) return;
  unsigned char* from = (unsigned char*)calloc((size_t)count, (size_t)entry->extent);
  unsigned char* to = (unsigned char*)calloc((size_t)count, (size_t)entry->extent);
  const MPI_Op op = is_max ? MPI_MAXLOC : MPI_MINLOC;
  ++seed;
  const int in_place_here = in_place && (is_allreduce || world_rank == root);
  for (long i = 0; i < count; ++i) {
    store_pair(entry, (in_place_here ? to : from) + i * entry->extent, pair_for(seed, world_rank, i));
  }
  const void* input = in_place_here ? MPI_IN_PLACE : from;
  const int error = is_allreduce ? MPI_Allreduce(input, to, (int)count, entry->type, op, MPI_COMM_WORLD)
                                 : MPI_Reduce(input, to, (int)count, entry->type, op, root, MPI_COMM_WORLD);
  if (error != MPI_SUCCESS) check_failed("%s: error %d", entry->name, error);
  int is_right = 1;
  for (long i = 0; (is_allreduce || world_rank == root) && i < count; ++i) {
    Value expected = pair_for(seed, 0, i);
    for (int rank = 1; rank < world_size; ++rank)
      expected = better_pair(is_max, expected, pair_for(seed, rank, i));
    if (!is_pair(entry, to + i * entry->extent, expected)) is_right = 0;
  }
  if (is_right) {
    check_passed();
  } else {
    check_failed("%s of %ld %s, %s%s is wrong", is_max ? "MAXLOC" : "MINLOC", count, entry->name,
                 is_allreduce ? "allreduce" : "reduce", in_place ? " in place" : "");
  }
  free(from);
  free(to);
}

#define PAIR(member_type, type, is_floating)                                               \
  {                                                                                        \
#type, type, sizeof(member_type), is_floating, offsetof(struct pair_of_##type, index), \
        sizeof(struct pair_of_##type), 0                                                   \
  }
#define TWICE(member_type, type, is_floating) \
  { #type, type, sizeof(member_type), is_floating, sizeof(member_type), 2 * sizeof(member_type), 1 }

void section_pairs(void) {
  struct pair_of_MPI_FLOAT_INT {
    float value;
    int index;
  };
  struct pair_of_MPI_DOUBLE_INT {
    double value;
    int index;
  };
  struct pair_of_MPI_LONG_INT {
    long value;
    int index;
  };
  struct pair_of_MPI_2INT {
    int value;
    int index;
  };
  struct pair_of_MPI_SHORT_INT {
    short value;
    int index;
  };
  struct pair_of_MPI_LONG_DOUBLE_INT {
    long double value;
    int index;
  };
  const PairEntry pairs[] = {
      PAIR(float, MPI_FLOAT_INT, 1),
      PAIR(double, MPI_DOUBLE_INT, 1),
      PAIR(long, MPI_LONG_INT, 0),
      PAIR(int, MPI_2INT, 0),
      PAIR(short, MPI_SHORT_INT, 0),
      PAIR(long double, MPI_LONG_DOUBLE_INT, 1),
      TWICE(int, MPI_2INTEGER, 0),
      TWICE(float, MPI_2REAL, 1),
      TWICE(double, MPI_2DOUBLE_PRECISION, 1),
  };
  return_errors(1);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    const TypeEntry type = {pairs[i].name, other_integer, pairs[i].type};
    if (usable_size(&type) <= 0) continue;
    for (int is_max = 0; is_max < 2; ++is_max) {
      check_pair(&pairs[i], is_max, 7, -1, 0);
      check_pair(&pairs[i], is_max, 500, -1, is_max);
      check_pair(&pairs[i], is_max, 5, -1, !is_max);
      check_pair(&pairs[i], is_max, 3, (int)i % world_size, 0);
      check_pair(&pairs[i], is_max, 40, 0, 1);
    }
  }
  return_errors(0);
}
