// SPDX-License-Identifier: BSD-3-Clause
// Communicators of all kinds, and what goes on beside the collectives: messages, errors, random sequences.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void run_all(MPI_Comm comm, long elements, int root) {
  const uint32_t seed = hash((uint32_t)elements, (uint32_t)root, 17, 4);
  for (int operation = 0; operation < operation_count; ++operation) {
    if (operation == barrier) {
      if (is_tested(barrier)) MPI_Barrier(comm);
      continue;
    }
    const Trial trial = plain_trial(comm, root, elements, seed);
    run_trial((Operation)operation, &trial);
  }
}

void section_communicators(void) {
  MPI_Comm duplicate, halves, reversed;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &halves);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  const MPI_Comm comms[] = {duplicate, halves, reversed, MPI_COMM_SELF, MPI_COMM_WORLD};
  for (int i = 0; i < 5; ++i) {
    int size;
    MPI_Comm_size(comms[i], &size);
    run_all(comms[i], 3, size - 1);
    run_all(comms[i], 2000, 0);
  }
  MPI_Comm_free(&duplicate);
  MPI_Comm_free(&halves);
  MPI_Comm_free(&reversed);
  // A part of the ranks has a communicator, the others have none.
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, world_rank, &some);
  if (some != MPI_COMM_NULL) {
    run_all(some, 10, 0);
    MPI_Comm_free(&some);
  }
}

// Each group's result is made of the other group's contributions.
static void check_intercommunicator(MPI_Comm inter, int is_first, int first_size) {
  int own = 1 + world_rank, sum = 0, expected = 0, value = -1, remote = 0;
  MPI_Comm_remote_size(inter, &remote);
  for (int rank = 0; rank < world_size; ++rank) {
    if ((rank < first_size) != is_first) expected += 1 + rank;
  }
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
  if (sum == expected) check_passed();
  if (sum != expected) check_failed("allreduce over an intercommunicator is %d instead of %d", sum, expected);
  int root = is_first ? (world_rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  if (world_rank == 0) value = 4711;
  MPI_Bcast(&value, 1, MPI_INT, root, inter);
  if (is_first || value == 4711) check_passed();
  if (!is_first && value != 4711)
    check_failed("bcast over an intercommunicator is %d instead of 4711", value);
  int* all = (int*)calloc((size_t)remote, sizeof *all);
  MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int i = 0; i < remote; ++i) {
    const int wanted = 1 + i + (is_first ? first_size : 0);
    if (all[i] == wanted) check_passed();
    if (all[i] != wanted)
      check_failed("allgather over an intercommunicator has %d instead of %d", all[i], wanted);
  }
  free(all);
  MPI_Barrier(inter);
}

void section_intercommunicator(void) {
  if (world_size < 2) return;
  const int first_size = (world_size + 1) / 2;
  const int is_first = world_rank < first_size;
  MPI_Comm local, inter, merged;
  MPI_Comm_split(MPI_COMM_WORLD, is_first, world_rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_first ? first_size : 0, 9, &inter);
  check_intercommunicator(inter, is_first, first_size);
  MPI_Intercomm_merge(inter, !is_first, &merged);
  run_all(merged, 5, 0);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

void section_many_communicators(void) {
  enum { held = 6, turns = 30 };
  MPI_Comm comms[held];
  for (int i = 0; i < held; ++i)
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % (1 + i % 2), world_rank, &comms[i]);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm fresh;
    MPI_Comm_dup(comms[turn % held], &fresh);
    Trial trial = plain_trial(fresh, 0, 2 + turn, (uint32_t)turn);
    run_trial(turn % 2 ? allreduce : bcast, &trial);
    trial.comm = comms[(turn + 1) % held];
    run_trial(turn % 2 ? allgather : reduce, &trial);
    MPI_Comm_free(&fresh);
  }
  for (int i = 0; i < held; ++i) MPI_Comm_free(&comms[i]);
}

// The program's own messages, also its wildcards, and those of the collectives do not meet.
void section_messages(void) {
  enum { tag = 3, length = 3000 };
  static int incoming[length], outgoing[length];
  if (has_wildcard_defect()) return;
  const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
  for (int turn = 0; turn < 6; ++turn) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < length; ++i) outgoing[i] = value_of((uint32_t)turn, world_rank, 0, i);
    MPI_Irecv(incoming, length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    run_all(MPI_COMM_WORLD, turn % 2 ? 5 : 3000, turn % world_size);
    MPI_Isend(outgoing, length, MPI_INT, right, tag + turn, MPI_COMM_WORLD, &requests[1]);
    run_all(MPI_COMM_WORLD, turn % 2 ? 3000 : 1, 0);
    MPI_Waitall(2, requests, statuses);
    int is_right = statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == tag + turn;
    for (int i = 0; i < length; ++i)
      is_right = is_right && incoming[i] == value_of((uint32_t)turn, left, 0, i);
    if (is_right) check_passed();
    if (!is_right) check_failed("turn %d: the message from rank %d is wrong", turn, left);
    // The next wildcard must not take a message of this turn's neighbour early.
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void expect_error(const char* what, int error) {
  if (error != MPI_SUCCESS) check_passed();
  if (error == MPI_SUCCESS) check_failed("%s: no error", what);
}

static int handler_calls;
static void count_call(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  (void)error;
  ++handler_calls;
}

// Each call is invalid on all ranks alike, so that none goes on alone: the MPI below must speak, not we.
// (MPICH itself ends the program at a reduce of a negative count, and MPICH 5 at an allreduce of no
// datatype.)
static void make_errors(MPI_Comm comm) {
  int value = 1, result = 0, all[2 * 64] = {0};
  const MPI_Datatype none = MPI_DATATYPE_NULL, type = MPI_INT;
  expect_error("bcast from a root that is not there", MPI_Bcast(&value, 1, type, world_size, comm));
  expect_error("bcast of a negative count", MPI_Bcast(&value, -1, type, 0, comm));
  expect_error("bcast of no datatype", MPI_Bcast(&value, 1, none, 0, comm));
  expect_error("reduce to a root that is not there", MPI_Reduce(&value, &result, 1, type, MPI_SUM, -5, comm));
  expect_error("allreduce with no operator", MPI_Allreduce(&value, &result, 1, type, MPI_OP_NULL, comm));
  expect_error("gather to a root that is not there", MPI_Gather(&value, 1, type, all, 1, type, -9, comm));
  expect_error("gather of a negative count", MPI_Gather(&value, -1, type, all, -1, type, 0, comm));
  expect_error("scatter from a root that is not there",
               MPI_Scatter(all, 1, type, &value, 1, type, world_size, comm));
  expect_error("scatter of a negative count", MPI_Scatter(all, -1, type, &value, -1, type, 0, comm));
  expect_error("allgather of no datatype", MPI_Allgather(&value, 1, none, all, 1, none, comm));
  expect_error("allgather of a negative count", MPI_Allgather(&value, -1, type, all, -1, type, comm));
  expect_error("alltoall of no datatype", MPI_Alltoall(all, 1, none, all + 64, 1, none, comm));
  expect_error("alltoall of a negative count", MPI_Alltoall(all, -1, type, all + 64, -1, type, comm));
}

// What shows only on a second look: an operator for other types, and no communicator.
static void make_hidden_errors(MPI_Comm comm) {
  double value = 1, result = 0;
  expect_error("allreduce of doubles by MPI_BAND",
               MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_BAND, comm));
  expect_error("reduce of doubles by MPI_MINLOC",
               MPI_Reduce(&value, &result, 1, MPI_DOUBLE, MPI_MINLOC, 0, comm));
  return_errors(1);
  expect_error("barrier over no communicator", MPI_Barrier(MPI_COMM_NULL));
  return_errors(0);
}

// Invalid arguments: the MPI below reports them through the communicator's error handler, and the
// communicator is as good as before.
void section_errors(void) {
  int value = 1;
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 2; ++turn) {
    make_errors(comm);
    make_hidden_errors(comm);
    run_all(comm, 4, 0);
  }
  MPI_Comm_create_errhandler(count_call, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Bcast(&value, -1, MPI_INT, 0, comm);
  if (handler_calls == 1) check_passed();
  if (handler_calls != 1)
    check_failed("the error handler was called %d times instead of once", handler_calls);
  run_all(comm, 4, 0);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

static void delay(uint32_t number) {
  if (number % 16 == 0) usleep(number / 16 % 400);
}

void section_random(void) {
  MPI_Comm comms[3];
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[2]);
  for (int step = 0; step < random_steps; ++step) {
    // The choice is common to all ranks, the delay is not.
    const uint32_t number = hash(random_seed, (uint32_t)step, 1, 1);
    int size;
    const MPI_Comm comm = comms[number % 8 < 6 ? 0 : number % 8 - 5];
    MPI_Comm_size(comm, &size);
    const Operation operation = (Operation)(number / 8 % operation_count);
    const long elements = (long)(hash(number, 5, 5, 5) % (1u << (number / 64 % 15)));
    Trial trial = plain_trial(comm, (int)(number / 1024 % (uint32_t)size), elements, number);
    trial.is_in_place = number / 4096 % 3 == 0;
    if (number / 16384 % 4 == 0) {
      trial.is_mixed = 1;
      trial.elements = elements / common_multiple * common_multiple;
      trial.send = &shapes[(world_rank + number) % shape_count];
      trial.receive = &shapes[(world_rank + number / 8) % shape_count];
    }
    delay(hash(number, (uint32_t)world_rank, 2, 2));
    if (operation == barrier && is_tested(barrier)) MPI_Barrier(comm);
    if (operation != barrier) run_trial(operation, &trial);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}
