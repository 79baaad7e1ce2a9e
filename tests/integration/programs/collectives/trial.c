// SPDX-License-Identifier: BSD-3-Clause
// One collective call with everything that is to be true of it.
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

const char* const operation_names[operation_count] = {"barrier", "bcast",   "reduce",    "allreduce",
                                                      "gather",  "scatter", "allgather", "alltoall"};

enum { summand_range = 1000 };

// What a call needs to know beside its Trial.
typedef struct {
  const Trial* trial;
  Operation operation;
  int rank, size;
  char text[256];  // for messages
} Call;

// A buffer as MPI gets it: address, count, type. `blocks` blocks of the trial's elements.
typedef struct {
  void* address;
  long count;
  MPI_Datatype type;
  MPI_Datatype made;  // to be freed, or MPI_DATATYPE_NULL
} Argument;

Trial plain_trial(MPI_Comm comm, int root, long elements, uint32_t seed) {
  Trial trial;
  trial.comm = comm;
  trial.root = root;
  trial.elements = elements;
  trial.seed = seed;
  trial.is_in_place = trial.is_absolute = trial.is_large_count = trial.is_mixed = 0;
  trial.send = trial.receive = &shapes[0];
  return trial;
}

// The count is that of one block, whatever the number of blocks behind the address.
static Argument argument_of(const Call* call, const Buffer* buffer) {
  Argument argument;
  const long units = call->trial->elements / buffer->shape->ints;
  argument.address = buffer->origin;
  argument.count = units;
  argument.type = buffer->shape->type;
  argument.made = MPI_DATATYPE_NULL;
  if (call->trial->is_absolute && units > 0) {
    const int length = (int)units;
    MPI_Aint address;
    MPI_Get_address(buffer->origin, &address);
    MPI_Type_create_hindexed(1, &length, &address, buffer->shape->type, &argument.made);
    MPI_Type_commit(&argument.made);
    argument.address = MPI_BOTTOM;
    argument.count = 1;
    argument.type = argument.made;
  }
  return argument;
}

static void release(Argument* argument) {
  if (argument->made != MPI_DATATYPE_NULL) MPI_Type_free(&argument->made);
}

static int expected_sum(const Call* call, long index) {
  int sum = 0;
  for (int rank = 0; rank < call->size; ++rank) {
    sum += value_of(call->trial->seed, rank, 0, index) % summand_range;
  }
  return sum;
}

static int is_reduction(Operation operation) {
  return operation == reduce || operation == allreduce;
}

// Element `index` of what rank `rank` sends in block `block`.
static int sent_value(const Call* call, int rank, int block, long index) {
  const uint32_t seed = call->trial->seed;
  switch (call->operation) {
    case reduce:
    case allreduce:
      return value_of(seed, rank, 0, index) % summand_range;
    case scatter:
    case alltoall:
      return value_of(seed, rank, block, index);
    default:
      return value_of(seed, rank, 0, index);
  }
}

static int received_value(const Call* call, int block, long index) {
  switch (call->operation) {
    case reduce:
    case allreduce:
      return expected_sum(call, index);
    case scatter:
      return sent_value(call, call->trial->root, call->rank, index);
    case bcast:
      return sent_value(call, call->trial->root, 0, index);
    default:
      return sent_value(call, block, call->operation == alltoall ? call->rank : 0, index);
  }
}

static int send_blocks(const Call* call) {
  if (call->operation == scatter) return call->rank == call->trial->root ? call->size : 0;
  return call->operation == alltoall ? call->size : 1;
}

static int receive_blocks(const Call* call) {
  switch (call->operation) {
    case reduce:
      return call->rank == call->trial->root;
    case gather:
      return call->rank == call->trial->root ? call->size : 0;
    case allgather:
    case alltoall:
      return call->size;
    default:
      return 1;
  }
}

static void fill_sent(const Call* call, Buffer* buffer, int first_block, int blocks, int from_block) {
  const long elements = call->trial->elements;
  for (int block = 0; block < blocks; ++block) {
    for (long i = 0; i < elements; ++i) {
      write_element(buffer, (first_block + block) * elements + i,
                    sent_value(call, call->rank, from_block + block, i));
    }
  }
}

static void check_sent(const Call* call, Buffer* buffer, int blocks) {
  const long elements = call->trial->elements;
  for (long i = 0; i < blocks * elements; ++i) {
    if (read_element(buffer, i) == sent_value(call, call->rank, (int)(i / elements), i % elements)) continue;
    check_failed("%s: the call changed its input at element %ld", call->text, i);
    return;
  }
  check_gaps(buffer, call->text);
}

static void check_received(const Call* call, Buffer* buffer, int blocks) {
  const long elements = call->trial->elements;
  for (int block = 0; block < blocks; ++block) {
    for (long i = 0; i < elements; ++i) {
      const int got = read_element(buffer, block * elements + i);
      const int expected = received_value(call, block, i);
      if (got == expected) continue;
      check_failed("%s: block %d, element %ld is %d instead of %d", call->text, block, i, got, expected);
      return;
    }
  }
  check_gaps(buffer, call->text);
}

#if HAS_LARGE_COUNTS
static int dispatch_large(const Call* call, const void* from, const Argument* s, void* to,
                          const Argument* r) {
  const Trial* t = call->trial;
  switch (call->operation) {
    case bcast:
      return MPI_Bcast_c(to, r->count, r->type, t->root, t->comm);
    case reduce:
      return MPI_Reduce_c(from, to, s->count, s->type, MPI_SUM, t->root, t->comm);
    case allreduce:
      return MPI_Allreduce_c(from, to, s->count, s->type, MPI_SUM, t->comm);
    case gather:
      return MPI_Gather_c(from, s->count, s->type, to, r->count, r->type, t->root, t->comm);
    case scatter:
      return MPI_Scatter_c(from, s->count, s->type, to, r->count, r->type, t->root, t->comm);
    case allgather:
      return MPI_Allgather_c(from, s->count, s->type, to, r->count, r->type, t->comm);
    case alltoall:
      return MPI_Alltoall_c(from, s->count, s->type, to, r->count, r->type, t->comm);
    default:
      return MPI_Barrier(t->comm);
  }
}
#endif

static int dispatch(const Call* call, const void* from, const Argument* s, void* to, const Argument* r) {
  const Trial* t = call->trial;
  const int sent = (int)s->count, received = (int)r->count;
#if HAS_LARGE_COUNTS
  if (t->is_large_count) return dispatch_large(call, from, s, to, r);
#endif
  switch (call->operation) {
    case bcast:
      return MPI_Bcast(to, received, r->type, t->root, t->comm);
    case reduce:
      return MPI_Reduce(from, to, sent, s->type, MPI_SUM, t->root, t->comm);
    case allreduce:
      return MPI_Allreduce(from, to, sent, s->type, MPI_SUM, t->comm);
    case gather:
      return MPI_Gather(from, sent, s->type, to, received, r->type, t->root, t->comm);
    case scatter:
      return MPI_Scatter(from, sent, s->type, to, received, r->type, t->root, t->comm);
    case allgather:
      return MPI_Allgather(from, sent, s->type, to, received, r->type, t->comm);
    case alltoall:
      return MPI_Alltoall(from, sent, s->type, to, received, r->type, t->comm);
    default:
      return MPI_Barrier(t->comm);
  }
}

// Rooted operations are in place at the root alone.
static int is_in_place_here(const Call* call) {
  if (!call->trial->is_in_place || call->operation == bcast) return 0;
  const int is_rooted = call->operation == reduce || call->operation == gather || call->operation == scatter;
  return !is_rooted || call->rank == call->trial->root;
}

// Puts what this rank contributes to where the operation finds it in place.
static void fill_in_place(const Call* call, Buffer* receive) {
  if (call->operation == alltoall) {
    fill_sent(call, receive, 0, call->size, 0);
  } else if (is_reduction(call->operation)) {
    fill_sent(call, receive, 0, 1, 0);
  } else {
    fill_sent(call, receive, call->rank, 1, 0);
  }
}

static void describe(Call* call) {
  const Trial* t = call->trial;
  snprintf(call->text, sizeof call->text, "%s%s of %ld ints, root %d, %d ranks, seed %u%s%s, %s -> %s",
           operation_names[call->operation], t->is_large_count ? "_c" : "", t->elements, t->root, call->size,
           (unsigned)t->seed, t->is_in_place ? ", in place" : "", t->is_absolute ? ", MPI_BOTTOM" : "",
           t->send->name, t->receive->name);
}

static void trace(const Call* call) {
  static int is_wanted = -1;
  if (is_wanted < 0) is_wanted = getenv("COLLECTIVES_TRACE") != NULL;
  if (is_wanted) fprintf(stderr, "rank %d: %s\n", world_rank, call->text);
}

static void run_scatter_in_place_root(const Call* call, Buffer* send, Argument* s, Argument* r) {
  if (dispatch(call, s->address, s, MPI_IN_PLACE, r) != MPI_SUCCESS) check_failed("%s: error", call->text);
  check_sent(call, send, send_blocks(call));
}

void run_trial(Operation operation, const Trial* trial) {
  if (has_host_defect(operation, trial)) return;
  Call call;
  call.trial = trial;
  call.operation = operation;
  MPI_Comm_rank(trial->comm, &call.rank);
  MPI_Comm_size(trial->comm, &call.size);
  describe(&call);
  trace(&call);
  const Shape* send_shape = is_reduction(operation) ? &shapes[0] : trial->send;
  const Shape* receive_shape = is_reduction(operation) ? &shapes[0] : trial->receive;
  const int in_place = is_in_place_here(&call);
  const int sent = send_blocks(&call), received = receive_blocks(&call);
  Buffer send = make_buffer(send_shape, sent * trial->elements);
  Buffer receive = make_buffer(receive_shape, received * trial->elements);
  Argument s = argument_of(&call, &send), r = argument_of(&call, &receive);
  if (in_place && operation == scatter) {
    fill_sent(&call, &send, 0, sent, 0);
    run_scatter_in_place_root(&call, &send, &s, &r);
  } else {
    if (operation == bcast) {
      if (call.rank == trial->root) fill_sent(&call, &receive, 0, 1, 0);
    } else if (in_place) {
      fill_in_place(&call, &receive);
    } else {
      fill_sent(&call, &send, 0, sent, 0);
    }
    // In place, reductions take count and type from the arguments that describe the output as well.
    const void* from = in_place ? MPI_IN_PLACE : s.address;
    const Argument* described = in_place && is_reduction(operation) ? &r : &s;
    if (dispatch(&call, from, described, r.address, &r) != MPI_SUCCESS) check_failed("%s: error", call.text);
    if (!in_place && operation != bcast) check_sent(&call, &send, sent);
    check_received(&call, &receive, received);
  }
  release(&s);
  release(&r);
  free_buffer(&send);
  free_buffer(&receive);
}
