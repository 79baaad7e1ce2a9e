// SPDX-License-Identifier: BSD-3-Clause
// Operators on types that the standard does not name together, of which each MPI takes some. With Unisono and
// without, every reduction has the same bits or the same error, told to the same handler as often. Then come
// calls that the MPI has to judge. What a report is to count of them is printed: "SERVED n", "UNDEFINED n",
// ...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"
#include "unisono/unisono.h"

enum { count = 37, element = 16, most_ranks = 8, forms = 8 };

static int rank, size, told, served, undefined;
static MPI_Comm comm;

static void on_error(MPI_Comm* where, int* code, ...) {
  (void)where, (void)code;
  ++told;
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static char in[most_ranks * count * element], out[most_ranks * count * element];
static const char* form_names[forms] = {"allreduce",      "reduce",     "scan",   "reduce_scatter_block",
                                        "reduce_scatter", "iallreduce", "exscan", "allreduce_init"};

static int reduce_persistently(MPI_Datatype type, MPI_Op op) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (!has_persistent_collectives()) return MPI_Allreduce(in, out, count, type, op, comm);
  int error = MPI_Allreduce_init(in, out, count, type, op, comm, MPI_INFO_NULL, &request);
  if (error != MPI_SUCCESS) return error;
  MPI_Start(&request);
  error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return error;
}

static int reduce(int form, MPI_Datatype type, MPI_Op op) {
  int counts[most_ranks], error = MPI_SUCCESS;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < size; ++i) counts[i] = count;
  switch (form) {
    case 0:
      return MPI_Allreduce(in, out, count, type, op, comm);
    case 1:
      return MPI_Reduce(in, out, count, type, op, size - 1, comm);
    case 2:
      return MPI_Scan(in, out, count, type, op, comm);
    case 3:
      return MPI_Reduce_scatter_block(in, out, count, type, op, comm);
    case 4:
      return MPI_Reduce_scatter(in, out, counts, type, op, comm);
    case 5:
      error = MPI_Iallreduce(in, out, count, type, op, comm, &request);
      return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
    case 6:
      return MPI_Exscan(in, out, count, type, op, comm);
    default:
      return reduce_persistently(type, op);
  }
}

static void switch_to(int is_enabled) {
  MPI_Barrier(comm);
  if (unisono_set_enabled) unisono_set_enabled(is_enabled);
}

// Sums and products stay within a byte: beyond it Open MPI's vector units stop at the largest number, and
// what follows its loops does not. `is_floating`: whole numbers, of which every order of sums gives the same
// bits.
static void fill(MPI_Op op, int is_floating) {
  const int is_small = op == MPI_SUM || op == MPI_PROD;
  unsigned draw = 12345u + 7919u * (unsigned)rank;
  for (size_t i = 0; i < sizeof in; ++i) {
    draw = draw * 1664525u + 1013904223u;
    in[i] = (char)(is_small ? (draw >> 20) % 5 : (draw >> 20) % 5 == 0 ? 0 : draw >> 24);
  }
  if (!is_floating) return;
  for (size_t i = 0; i < sizeof in / sizeof(double); ++i) {
    const double value = (double)(1 + (i + (size_t)rank) % 3);
    memcpy(in + i * sizeof value, &value, sizeof value);
  }
}

static void compare(const char* name, int which, MPI_Datatype type, MPI_Op op, int is_floating) {
  const int is_f90 = strncmp(name, "an f90 type", 11) == 0;  // those are compared in calls of one time alone
  static char native[sizeof out];
  for (int form = 0; form < forms; ++form) {
    if (form_names[form] == form_names[forms - 1] && is_f90) continue;
    fill(op, is_floating);
    memset(out, 0x5A, sizeof out);
    switch_to(0);
    told = 0;
    const int native_class = class_of(reduce(form, type, op)), native_told = told;
    memcpy(native, out, sizeof out);
    memset(out, 0x5A, sizeof out);
    switch_to(1);
    told = 0;
    const int own_class = class_of(reduce(form, type, op));
    if (own_class != native_class || told != native_told || memcmp(native, out, sizeof out) != 0) {
      size_t first = 0;
      while (first < sizeof out && native[first] == out[first]) ++first;
      printf(
          "rank %d: %s of %s, operator %d: error %d instead of %d, told %d instead of %d, first wrong "
          "byte %zu of %zu\n",
          rank, form_names[form], name, which, own_class, native_class, told, native_told, first, sizeof out);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    // (MPICH 5 returns no error where a handler of the program's has seen it.)
    if (form == 0) native_told == 0 && native_class == MPI_SUCCESS ? ++served : ++undefined;
  }
}

static void compare_all(void) {
  const struct {
    const char* name;
    MPI_Datatype type;
  } types[] = {{"MPI_CHAR", MPI_CHAR},      {"MPI_BYTE", MPI_BYTE}, {"MPI_CHARACTER", MPI_CHARACTER},
               {"MPI_WCHAR", MPI_WCHAR},    {"MPI_AINT", MPI_AINT}, {"MPI_COUNT", MPI_COUNT},
               {"MPI_INTEGER", MPI_INTEGER}};
  const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                        MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_REPLACE};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    // An MPI built without Fortran has none of its types.
    if (types[t].type == MPI_DATATYPE_NULL) continue;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; ++o)
      compare(types[t].name, (int)o, types[t].type, ops[o], 0);
  }
  MPI_Datatype f90[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, plain;
  MPI_Type_create_f90_real(15, 307, &f90[0]);
  MPI_Type_create_f90_complex(15, 307, &f90[1]);
  MPI_Type_create_f90_integer(9, &f90[2]);
  for (int i = 0; i < 3; ++i) {
    if (f90[i] == MPI_DATATYPE_NULL) continue;
    compare("an f90 type, MPI_SUM", i, f90[i], MPI_SUM, i < 2);
    compare("an f90 type, MPI_MIN", i, f90[i], MPI_MIN, i < 2);
    compare("an f90 type, MPI_BAND", i, f90[i], MPI_BAND, i < 2);
  }
  MPI_Type_contiguous(1, MPI_INT, &plain);
  MPI_Type_commit(&plain);
  compare("a derived type, MPI_SUM", 0, plain, MPI_SUM, 0);
  MPI_Type_free(&plain);
}

// Of nothing: the operator is judged all the same.
static void compare_of_nothing(void) {
  for (int is_enabled = 0; is_enabled < 2; ++is_enabled) {
    static int classes[2];
    switch_to(is_enabled);
    classes[is_enabled] = class_of(MPI_Allreduce(in, out, 0, MPI_DOUBLE, MPI_BAND, comm));
    if (is_enabled && classes[0] != classes[1]) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// Calls with arguments that are the MPI's to judge, each on all ranks.
static void leave_some(void) {
  enum { calls = 5 };
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < calls; ++i) {
    MPI_Bcast(in, 1, MPI_INT, size, comm);
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
    MPI_Allgather(in, -1, MPI_INT, out, 1, MPI_INT, comm);
  }
  MPI_Comm half, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &between);
  for (int i = 0; i < calls; ++i) {
    const int root = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;
    MPI_Bcast(in, 1, MPI_INT, root, between);
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, between);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  if (unisono_set_enabled) unisono_set_enabled(0);
  for (int i = 0; i < calls; ++i) MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, comm);
  if (unisono_set_enabled) unisono_set_enabled(1);
  if (rank == 0) printf("LEFT %d\n", calls);
}

int main(int argument_count, char** arguments) {
  MPI_Errhandler handler;
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comm = MPI_COMM_WORLD;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  if (argument_count > 1 && strcmp(arguments[1], "left") == 0) {
    leave_some();
  } else {
    compare_all();
    compare_of_nothing();
    if (rank == 0) printf("SERVED %d\nUNDEFINED %d\n", served, undefined);
  }
  MPI_Errhandler_free(&handler);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
