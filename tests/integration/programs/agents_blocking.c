// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of each operator, type, length and root, while others are under way; each result is looked
// at.
//   agents_blocking SECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 4000, types = 4, operators = 10, lengths = 5 };

static const int counts[lengths] = {1, 3, 7, 500, most};
static int rank, size, calls;

static void fail(const char* what, int type, int op, int count, int root) {
  fprintf(stderr, "rank %d, call %d: %s of type %d by operator %d, %d elements, root %d is wrong\n", rank,
          calls, what, type, op, count, root);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static long given(int by, int i) {
  return (by * 5 + i) % 6;
}

static long joined(int op, long a, long b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a < b ? a : b;
    case 2:
      return a > b ? a : b;
    case 3:
      return a * b;
    case 4:
      return a && b;
    case 5:
      return a || b;
    case 6:
      return !a != !b;
    case 7:
      return a & b;
    case 8:
      return a | b;
    default:
      return a ^ b;
  }
}

static void put(int type, void* buffer, int i, long value) {
  if (type == 0) ((int*)buffer)[i] = (int)value;
  if (type == 1) ((long*)buffer)[i] = value;
  if (type == 2) ((float*)buffer)[i] = (float)value;
  if (type == 3) ((double*)buffer)[i] = (double)value;
}

static long got(int type, const void* buffer, int i) {
  if (type == 0) return ((const int*)buffer)[i];
  if (type == 1) return ((const long*)buffer)[i];
  if (type == 2) return (long)((const float*)buffer)[i];
  return (long)((const double*)buffer)[i];
}

static void reductions(MPI_Comm comm, int type, int op, int count, int root) {
  static double in[most], out[most];
  const MPI_Datatype all_types[types] = {MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE};
  const MPI_Op all_operators[operators] = {MPI_SUM, MPI_MIN,  MPI_MAX,  MPI_PROD, MPI_LAND,
                                           MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  for (int i = 0; i < count; ++i) put(type, in, i, given(rank, i));
  for (int is_rooted = 0; is_rooted < 2; ++is_rooted) {
    for (int i = 0; i < count; ++i) put(type, out, i, -7);
    ++calls;
    if (is_rooted)
      MPI_Reduce(in, out, count, all_types[type], all_operators[op], root, comm);
    else
      MPI_Allreduce(in, out, count, all_types[type], all_operators[op], comm);
    for (int i = 0; i < count; ++i) {
      long expected = given(0, i);
      for (int by = 1; by < size; ++by) expected = joined(op, expected, given(by, i));
      if (is_rooted && rank != root) expected = -7;
      if (got(type, out, i) != expected) fail(is_rooted ? "reduce" : "allreduce", type, op, count, root);
    }
  }
}

static void others(MPI_Comm comm, int count, int root) {
  static long data[most];
  for (int i = 0; i < count; ++i) data[i] = rank == root ? root + i : -1;
  ++calls;
  MPI_Bcast(data, count, MPI_LONG, root, comm);
  for (int i = 0; i < count; ++i)
    if (data[i] != root + i) fail("bcast", 1, 0, count, root);
  ++calls;
  MPI_Barrier(comm);
}

// Operators and types that agents do not compute with, in the midst of the others.
static void unusual(MPI_Comm comm) {
  struct {
    double value;
    int index;
  } in = {rank, rank}, out = {-1, -1};
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  if (out.value != size - 1 || out.index != size - 1) fail("maxloc", -1, -1, 1, 0);
  signed char least = (signed char)rank, found = -1;
  MPI_Allreduce(&least, &found, 1, MPI_SIGNED_CHAR, MPI_MIN, comm);
  if (found != 0) fail("allreduce of bytes", -1, 1, 1, 0);
}

static void round_of_calls(MPI_Comm comm, MPI_Comm other, int number) {
  enum { started = 3 };
  long in[started], out[started];
  MPI_Request requests[started];
  for (int i = 0; i < started; ++i) {
    in[i] = rank + i + number;
    MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, i == 1 ? other : comm, &requests[i]);
  }
  for (int type = 0; type < types; ++type) {
    const int op = number % (type < 2 ? operators : 4);
    reductions(type % 2 == 0 ? comm : other, type, op, counts[(number + type) % lengths], number % size);
  }
  others(comm, counts[number % lengths], number % size);
  if (number % 5 == 0) unusual(comm);
  for (int i = 0; i < started; ++i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (out[i] != (long)size * (size - 1) / 2 + (long)size * (i + number)) fail("iallreduce", 1, 0, 1, 0);
  }
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  MPI_Comm other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  const double end = MPI_Wtime() + seconds;
  for (int number = 0, goes_on = 1; goes_on; ++number) {
    round_of_calls(MPI_COMM_WORLD, other, number);
    if (number % 40 != 39) continue;
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("OK, %d calls\n", calls);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}
