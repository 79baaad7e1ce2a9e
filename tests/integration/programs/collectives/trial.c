// SPDX-License-Identifier: BSD-3-Clause
// One collective call with everything that is to be true of it.
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

const char* const operation_names[operation_count] = {"barrier",        "bcast",     "reduce",
                                                      "allreduce",      "gather",    "scatter",
                                                      "allgather",      "alltoall",  "reduce_scatter_block",
                                                      "scan",           "exscan",    "allgatherv",
                                                      "reduce_scatter", "alltoallv", "gatherv",
                                                      "scatterv",       "alltoallw"};

enum { summand_range = 1000 };

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

int is_reduction(Operation operation) {
  switch (operation) {
    case reduce:
    case allreduce:
    case reduce_scatter_block:
    case reduce_scatter:
    case scan:
    case exscan:
      return 1;
    default:
      return 0;
  }
}

static int has_blocks_for_all(Operation operation) {
  switch (operation) {
    case scatter:
    case scatterv:
    case alltoall:
    case alltoallv:
    case alltoallw:
    case reduce_scatter_block:
    case reduce_scatter:
      return 1;
    default:
      return 0;
  }
}

// The argument for a buffer. In operations with blocks of one length the count is that of one block.
static Argument argument_of(const Call* call, const Buffer* buffer, const Blocks* blocks) {
  Argument argument;
  const long units = call->trial->elements / buffer->shape->ints;
  argument.address = buffer->origin;
  argument.count = units;
  argument.type = buffer->shape->type;
  argument.made = MPI_DATATYPE_NULL;
  argument.blocks = blocks;
  argument.ints_per_unit = buffer->shape->ints;
  argument.extent = buffer->shape->extent;
  if (call->trial->is_absolute && units > 0) {
    const int is_uneven = call->operation >= allgatherv;
    const int length = is_uneven ? 1 : (int)units;
    MPI_Aint address;
    MPI_Get_address(buffer->origin, &address);
    MPI_Type_create_hindexed(1, &length, &address, buffer->shape->type, &argument.made);
    if (is_uneven) {
      // One unit, which the counts and displacements are about.
      MPI_Datatype unit = argument.made;
      MPI_Type_create_resized(unit, address, buffer->shape->extent, &argument.made);
      MPI_Type_free(&unit);
    }
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

// Element `index` of what rank `rank` sends in block `block`.
static int sent_value(const Call* call, int rank, int block, long index) {
  const int value = value_of(call->trial->seed, rank, has_blocks_for_all(call->operation) ? block : 0, index);
  return is_reduction(call->operation) ? value % summand_range : value;
}

static int expected_sum(const Call* call, int ranks, int block, long index) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += sent_value(call, rank, block, index);
  return sum;
}

static int received_value(const Call* call, int block, long index) {
  switch (call->operation) {
    case reduce:
    case allreduce:
      return expected_sum(call, call->size, 0, index);
    case reduce_scatter_block:
    case reduce_scatter:
      return expected_sum(call, call->size, call->rank, index);
    case scan:
      return expected_sum(call, call->rank + 1, 0, index);
    case exscan:
      return expected_sum(call, call->rank, 0, index);
    case bcast:
    case scatter:
    case scatterv:
      return sent_value(call, call->trial->root, call->rank, index);
    default:
      return sent_value(call, block, call->rank, index);
  }
}

// Block `block` of the buffer gets what this rank sends as block `as_block`.
static void fill_block(const Call* call, Buffer* buffer, const Blocks* blocks, int block, int as_block) {
  for (long i = 0; i < blocks->lengths[block]; ++i) {
    write_element(buffer, blocks->starts[block] + i, sent_value(call, call->rank, as_block, i));
  }
}

static void fill_all(const Call* call, Buffer* buffer, const Blocks* blocks) {
  for (int block = 0; block < blocks->count; ++block) fill_block(call, buffer, blocks, block, block);
}

// What lies between the blocks, and around the elements.
static void check_rest(const Call* call, Buffer* buffer, const Blocks* blocks) {
  char* is_covered = (char*)calloc((size_t)buffer->elements + 1, 1);
  for (int block = 0; block < blocks->count; ++block) {
    for (long i = 0; i < blocks->lengths[block]; ++i) is_covered[blocks->starts[block] + i] = 1;
  }
  for (long i = 0; i < buffer->elements; ++i) {
    if (is_covered[i] || is_untouched(buffer, i)) continue;
    check_failed("%s: element %ld of a buffer was written, though it belongs to no block", call->text, i);
    break;
  }
  free(is_covered);
  check_gaps(buffer, call->text);
}

static void check_sent(const Call* call, Buffer* buffer, const Blocks* blocks) {
  for (int block = 0; block < blocks->count; ++block) {
    for (long i = 0; i < blocks->lengths[block]; ++i) {
      if (read_element(buffer, blocks->starts[block] + i) == sent_value(call, call->rank, block, i)) continue;
      check_failed("%s: the call changed its input at element %ld of block %d", call->text, i, block);
      return;
    }
  }
  check_rest(call, buffer, blocks);
}

static void check_received(const Call* call, Buffer* buffer, const Blocks* blocks) {
  for (int block = 0; block < blocks->count; ++block) {
    for (long i = 0; i < blocks->lengths[block]; ++i) {
      const int got = read_element(buffer, blocks->starts[block] + i);
      const int expected = received_value(call, block, i);
      if (got == expected) continue;
      check_failed("%s: block %d, element %ld is %d instead of %d", call->text, block, i, got, expected);
      return;
    }
  }
  check_rest(call, buffer, blocks);
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

static void must_succeed(const Call* call, int error) {
  if (error != MPI_SUCCESS) check_failed("%s: error", call->text);
}

// The root of a scatter in place keeps its own block where it is.
static void run_scatter_in_place(const Call* call, Buffer* send, const Blocks* sent, const Argument* s,
                                 const Argument* r) {
  fill_all(call, send, sent);
  must_succeed(call, dispatch(call, s->address, s, MPI_IN_PLACE, r));
  check_sent(call, send, sent);
}

// Everything that is to be reduced stands where a part of the result is to be; the rest is then undefined.
static void run_reduction_in_place(const Call* call, const Blocks* sent, const Blocks* received,
                                   const Argument* s) {
  Buffer both = make_buffer(&shapes[0], sent->elements);
  fill_all(call, &both, sent);
  must_succeed(call, dispatch(call, MPI_IN_PLACE, s, both.origin, s));
  for (long i = 0; i < received->lengths[0]; ++i) {
    const int got = read_element(&both, i), expected = received_value(call, 0, i);
    if (got == expected) continue;
    check_failed("%s: element %ld is %d instead of %d", call->text, i, got, expected);
    break;
  }
  check_gaps(&both, call->text);
  free_buffer(&both);
}

static void run_in_place(const Call* call, Buffer* receive, const Blocks* received, const Argument* r) {
  const Operation operation = call->operation;
  if (has_blocks_for_all(operation)) {
    fill_all(call, receive, received);
  } else {
    fill_block(call, receive, received, is_reduction(operation) ? 0 : call->rank, 0);
  }
  must_succeed(call, dispatch(call, MPI_IN_PLACE, r, r->address, r));
  if (operation != exscan || call->rank > 0) check_received(call, receive, received);
}

static void run_apart(const Call* call, Buffer* send, const Blocks* sent, const Argument* s, Buffer* receive,
                      const Blocks* received, const Argument* r) {
  if (call->operation == bcast) {
    if (call->rank == call->trial->root) fill_all(call, receive, received);
  } else {
    fill_all(call, send, sent);
  }
  must_succeed(call, dispatch(call, s->address, s, r->address, r));
  if (call->operation != bcast) check_sent(call, send, sent);
  check_received(call, receive, received);
}

void run_trial(Operation operation, const Trial* trial) {
  if (!is_tested(operation) || has_host_defect(operation, trial)) return;
  Call call;
  call.trial = trial;
  call.operation = operation;
  MPI_Comm_rank(trial->comm, &call.rank);
  MPI_Comm_size(trial->comm, &call.size);
  describe(&call);
  trace(&call);
  const Blocks sent = sent_blocks(&call), received = received_blocks(&call);
  Buffer send = make_buffer(is_reduction(operation) ? &shapes[0] : trial->send, sent.elements);
  Buffer receive = make_buffer(is_reduction(operation) ? &shapes[0] : trial->receive, received.elements);
  Argument s = argument_of(&call, &send, &sent), r = argument_of(&call, &receive, &received);
  const int in_place = is_in_place_here(&call);
  if (in_place && (operation == scatter || operation == scatterv)) {
    run_scatter_in_place(&call, &send, &sent, &s, &r);
  } else if (in_place && (operation == reduce_scatter_block || operation == reduce_scatter)) {
    run_reduction_in_place(&call, &sent, &received, &s);
  } else if (in_place) {
    run_in_place(&call, &receive, &received, &r);
  } else {
    run_apart(&call, &send, &sent, &s, &receive, &received, &r);
  }
  release(&s);
  release(&r);
  free_buffer(&send);
  free_buffer(&receive);
}
