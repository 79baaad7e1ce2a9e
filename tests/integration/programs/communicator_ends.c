// SPDX-License-Identifier: BSD-3-Clause
// The end of communicators and datatypes whose attributes' delete callbacks use them: MPI 4.1, section 7.7.2.
// Right natively, and on MPICH also with the argument `nested`; prints OK.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, refusals, wrong, may_nest;

static void check(int is_right, const char* what) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static void use(MPI_Comm comm, const char* what) {
  int me, members, sum = 0, all[64] = {0};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  int given = me + 1;
  MPI_Allreduce(&given, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == members * (members + 1) / 2, what);
  MPI_Allgather(&given, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < members; ++i) check(all[i] == i + 1, what);
  int from_last = me == members - 1 ? 17 : 0;
  MPI_Bcast(&from_last, 1, MPI_INT, members - 1, comm);
  check(from_last == 17, what);
  MPI_Request requests[2];
  int started[2] = {0, 0};
  MPI_Iallreduce(&given, &started[0], 1, MPI_INT, MPI_MAX, comm, &requests[0]);
  MPI_Iallreduce(&given, &started[1], 1, MPI_INT, MPI_MIN, comm, &requests[1]);
  for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  check(started[0] == members && started[1] == 1, what);
}

static int use_in_callback(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)keyval, (void)state;
  use(comm, "in a delete callback");
  if (value == NULL || !may_nest) return MPI_SUCCESS;
  // Another communicator begins and ends meanwhile.
  MPI_Comm other;
  MPI_Comm_split(comm, rank % 2, -rank, &other);
  use(other, "on another one in a delete callback");
  MPI_Comm_free(&other);
  use(comm, "in a delete callback, afterwards");
  return MPI_SUCCESS;
}

static int refuse_once(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)keyval, (void)value, (void)state;
  use(comm, "in a callback that refuses");
  return refusals++ == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static MPI_Comm make(int turn) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, turn % 3 == 2 ? rank % 2 : 0, turn % 2 ? -rank : rank, &comm);
  return comm;
}

static void ends_with_callbacks(void) {
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_in_callback, &keyval, NULL);
  for (int turn = 0; turn < 48; ++turn) {
    MPI_Comm comm = make(turn);
    void* value = turn % 4 == 3 ? &wrong : NULL;
    const int is_early = turn / 4 % 3;  // before the first collective, after it, without one
    if (is_early == 0) MPI_Comm_set_attr(comm, keyval, value);
    if (is_early != 2)
      for (int i = 0; i < 3; ++i) use(comm, "before the end");
    if (is_early != 0) MPI_Comm_set_attr(comm, keyval, value);
    if (turn % 5 == 4) {
      MPI_Comm_disconnect(&comm);
    } else {
      MPI_Comm_free(&comm);
    }
    check(comm == MPI_COMM_NULL, "handle of what is freed");
  }
  MPI_Comm_free_keyval(&keyval);
}

// Duplicates inherit; intercommunicators have no collectives of ours.
static void ends_of_others(void) {
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, use_in_callback, &keyval, NULL);
  MPI_Comm comm = make(0), copy, half, inter;
  MPI_Comm_set_attr(comm, keyval, NULL);
  MPI_Comm_dup(comm, &copy);
  use(copy, "on a duplicate");
  MPI_Comm_free(&comm);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&keyval);
  if (size == 1) return;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
  for (int i = 0; i < 3; ++i) MPI_Barrier(inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// Section 7.7.2: where a callback fails, so does the call. Hosts leave the communicator as it is then.
static void refused_ends(void) {
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_once, &keyval, NULL);
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Comm comm = make(turn), freed;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    refusals = 0;
    if (turn % 2) use(comm, "before the end");
    MPI_Comm_set_attr(comm, keyval, NULL);
    freed = comm;
    const int error = MPI_Comm_free(&freed);
    check(error != MPI_SUCCESS, "success of a free that a callback has refused");
    // Some hosts have freed it nevertheless.
    if (error != MPI_SUCCESS && freed != MPI_COMM_NULL)
      for (int i = 0; i < 3; ++i) use(comm, "on what was not freed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (freed != MPI_COMM_NULL) MPI_Comm_free(&freed);
    MPI_Comm next = make(turn + 1);  // perhaps under the same handle
    use(next, "on the next one");
    MPI_Comm_free(&next);
  }
  MPI_Comm_free_keyval(&keyval);
}

static int send_type_in_callback(MPI_Datatype type, int keyval, void* value, void* state) {
  (void)keyval, (void)value, (void)state;
  int data[8] = {0};
  if (!may_nest) return MPI_SUCCESS;  // Open MPI would destroy the type again, and come here for ever
  if (rank == 0)
    for (int i = 0; i < 8; ++i) data[i] = i;
  MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
  check(data[0] == 0 && data[2] == 2 && data[6] == 6, "type in its delete callback");
  return MPI_SUCCESS;
}

static void ends_of_types(void) {
  int keyval;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, send_type_in_callback, &keyval, NULL);
  for (int turn = 0; turn < 12; ++turn) {
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (turn % 3 == 0) MPI_Type_set_attr(type, keyval, NULL);
    int data[8] = {0};
    if (turn % 3 != 2) MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
    if (turn % 3 != 0) MPI_Type_set_attr(type, keyval, NULL);
    MPI_Type_free(&type);
    // Another layout, perhaps under the same handle.
    MPI_Type_contiguous(8, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 8; ++i) data[i] = rank == 0 ? i + turn : -1;
    MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 8; ++i) check(data[i] == i + turn, "next type");
    MPI_Type_free(&type);
  }
  MPI_Type_free_keyval(&keyval);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  may_nest = argc > 1 && strcmp(argv[1], "nested") == 0;
  ends_with_callbacks();
  ends_of_others();
  if (may_nest) refused_ends();
  ends_of_types();
  use(MPI_COMM_WORLD, "at the end");
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "OK" : "WRONG");
  MPI_Finalize();
  return all != 0;
}
