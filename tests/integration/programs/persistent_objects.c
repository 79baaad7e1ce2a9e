// SPDX-License-Identifier: BSD-3-Clause
// What persistent and non-blocking collectives show of the program's own objects: operators see the program's
// types, and no attribute function of the program is called that is not called natively. Prints OK.
//
//   persistent_objects [multiple]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "persistent.inc"

static int rank, size;

static void fail(const char* what, long got, long expected) {
  fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, got, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void expect_long(const char* what, long got, long expected) {
  if (got != expected) fail(what, got, expected);
}

static MPI_Datatype seen_type;
static int type_key, strange_types, lost_attributes, operator_calls;
static int type_copies, type_deletes, comm_copies, self_deletes;

static int copy_type(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++type_copies;
  return MPI_SUCCESS;
}
static int delete_type(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++type_deletes;
  return MPI_SUCCESS;
}
static int copy_comm(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++comm_copies;
  return MPI_SUCCESS;
}
static int delete_comm(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++self_deletes;
  return MPI_SUCCESS;
}

static void look_and_add(void* in, void* inout, int* count, MPI_Datatype* type) {
  void* value;
  int is_set = 0;
  ++operator_calls;
  strange_types += *type != seen_type;
  MPI_Type_get_attr(*type, type_key, &value, &is_set);
  lost_attributes += !is_set;
  for (int i = 0; i < 2 * *count; ++i) ((long*)inout)[i] += ((long*)in)[i];
}

static void show_types(void) {
  long in[2] = {rank, 1}, out[2] = {-1, -1};
  MPI_Op op;
  MPI_Request requests[2];
  MPI_Op_create(look_and_add, 1, &op);
  MPI_Type_create_keyval(copy_type, delete_type, &type_key, NULL);
  for (int has_other = 0; has_other < 2; ++has_other) {
    MPI_Type_contiguous(2, MPI_LONG, &seen_type);
    MPI_Type_commit(&seen_type);
    MPI_Type_set_attr(seen_type, type_key, &type_key);
    type_copies = type_deletes = 0;
    MPI_Allreduce_init(in, out, 1, seen_type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      expect_long("sum of pairs", out[0], (long)size * (size - 1) / 2);
    }
    MPI_Iallreduce(in, out, 1, seen_type, op, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    expect_long("operators that saw another type", strange_types, 0);
    expect_long("operators that saw no attribute", lost_attributes, 0);
    // Another reference to the type, of those who get the type itself.
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    if (has_other) MPI_Type_contiguous(1, seen_type, &pair);
    MPI_Type_free(&seen_type);
    if (seen_type != MPI_DATATYPE_NULL) fail("a freed type's handle", 1, 0);
    if (has_other) MPI_Type_free(&pair);
    MPI_Request_free(&requests[0]);
    expect_long("copies of a type's attribute", type_copies, 0);
    expect_long("deletions of a type's attribute", type_deletes, 1);
  }
  MPI_Type_free_keyval(&type_key);
  MPI_Op_free(&op);
}

// Predefined operators take them, and no program may free them.
static void use_f90_types(void) {
  MPI_Datatype type;
  double in = rank + 1, out = -1;
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL) {
    const int error = MPI_Allreduce(&in, &out, 1, type, MPI_SUM, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS) {
      expect_long("MPI_Allreduce_init of an f90 type",
                  MPI_Allreduce_init(&in, &out, 1, type, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                  0);
      out = -1;
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect_long("a sum of an f90 type", (long)out, (long)size * (size + 1) / 2);
      const MPI_Op of_windows[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP};
      for (int i = 0; i < 3; ++i) {
        MPI_Op op = of_windows[i];
        expect_long("predefined operators that may be freed", MPI_Op_free(&op) == MPI_SUCCESS, 0);
      }
      MPI_Request_free(&request);
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  int provided, comm_key;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!has_persistent_collectives()) fail("persistent collectives", 0, 1);
  MPI_Comm_create_keyval(copy_comm, delete_comm, &comm_key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, comm_key, &comm_key);
  MPI_Comm_set_attr(MPI_COMM_WORLD, comm_key, &comm_key);
  show_types();
  use_f90_types();
  expect_long("copies of a communicator's attribute", comm_copies, 0);
  expect_long("deletions of a communicator's attribute", self_deletes, 0);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, comm_key);
  self_deletes = 0;
  MPI_Finalize();
  if (comm_copies != 0 || self_deletes != 1) {
    fprintf(stderr, "rank %d: %d copies, %d deletions of an attribute of MPI_COMM_SELF\n", rank, comm_copies,
            self_deletes);
    return 1;
  }
  if (rank == 0) puts("OK");
  return 0;
}
