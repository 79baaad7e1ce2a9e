// SPDX-License-Identifier: BSD-3-Clause
// Collectives that do not block, and persistent ones, in ways that MPI allows. Many are under way on several
// communicators, beside messages. They are completed in any order by every function that completes requests.
// Types, operators and communicators are freed meanwhile. Every result is computed here. Prints OK.
//
//   nonblocking [seed]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"
#include "seeded.inc"

enum { most_open = 16, steps = 150, most_count = 6000, most_turns = 3 };

static int has_persistent;

typedef struct {
  int is_open, operation, number, count, root, members, own_rank;
  int is_persistent, is_own_op, is_own_type;
  MPI_Op op;
  MPI_Datatype type;
  MPI_Request request;
  long *in, *out;
  int *counts, *places, *byte_places;  // uneven blocks, which lie the other way round
  MPI_Datatype* types;
} Open;
static Open open_calls[most_open];
static const char* const names[] = {"barrier",   "bcast",         "reduce",
                                    "allreduce", "gather",        "scatter",
                                    "allgather", "alltoall",      "reduce_scatter_block",
                                    "scan",      "exscan",        "allgatherv",
                                    "gatherv",   "scatterv",      "alltoallv",
                                    "alltoallw", "reduce_scatter"};
enum { allgatherv = 11, gatherv, scatterv, alltoallv, alltoallw, reduce_scatter };
enum { operation_count = sizeof names / sizeof names[0] };

// What member `r` sends as element i of block b in call `number`.
static long value(int number, int r, int b, int i) {
  return number * 1000003L + r * 1009L + b * 31L + i % 97;
}
static long sum_over(const Open* c, int members, int b, int i) {
  long sum = 0;
  for (int r = 0; r < members; ++r) sum += value(c->number, r, b, i);
  return sum;
}

static void add_longs(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((long*)inout)[i] += ((long*)in)[i];
}

static void expect(const Open* c, int b, int i, long expected) {
  const long got = c->out[(long)b * c->count + i];
  if (got != expected) fail(names[c->operation], (long)b * c->count + i, got, expected);
}

static int block_at(const Open* c, int b) {
  return c->members - 1 - b;
}

static void fill(Open* c) {
  const int is_reversed = c->operation >= scatterv && c->operation <= alltoallw;
  for (int b = 0; b < c->members; ++b) {
    const int at = is_reversed ? block_at(c, b) : b;
    for (int i = 0; i < c->count; ++i) c->in[(long)at * c->count + i] = value(c->number, c->own_rank, b, i);
  }
  memset(c->out, 0xff, (size_t)c->count * (size_t)c->members * sizeof(long));
  if (c->operation == 1 && c->own_rank == c->root) memcpy(c->out, c->in, (size_t)c->count * sizeof(long));
}

// The call is over: was it right?
static void check(Open* c) {
  const int is_root = c->own_rank == c->root;
  for (int i = 0; i < c->count; ++i) {
    switch (c->operation) {
      case 1:
        expect(c, 0, i, value(c->number, c->root, 0, i));
        break;
      case 2:
        if (is_root) expect(c, 0, i, sum_over(c, c->members, 0, i));
        break;
      case 3:
        expect(c, 0, i, sum_over(c, c->members, 0, i));
        break;
      case 4:
        for (int b = 0; is_root && b < c->members; ++b) expect(c, b, i, value(c->number, b, 0, i));
        break;
      case 5:
        expect(c, 0, i, value(c->number, c->root, c->own_rank, i));
        break;
      case 6:
        for (int b = 0; b < c->members; ++b) expect(c, b, i, value(c->number, b, 0, i));
        break;
      case 7:
        for (int b = 0; b < c->members; ++b) expect(c, b, i, value(c->number, b, c->own_rank, i));
        break;
      case 8:
        expect(c, 0, i, sum_over(c, c->members, c->own_rank, i));
        break;
      case 9:
        expect(c, 0, i, sum_over(c, c->own_rank + 1, 0, i));
        break;
      case 10:
        if (c->own_rank > 0) expect(c, 0, i, sum_over(c, c->own_rank, 0, i));
        break;
      case allgatherv:
      case gatherv:
        for (int b = 0; (is_root || c->operation == allgatherv) && b < c->members; ++b)
          expect(c, block_at(c, b), i, value(c->number, b, 0, i));
        break;
      case scatterv:
        expect(c, 0, i, value(c->number, c->root, c->own_rank, i));
        break;
      case alltoallv:
      case alltoallw:
        for (int b = 0; b < c->members; ++b)
          expect(c, block_at(c, b), i, value(c->number, b, c->own_rank, i));
        break;
      case reduce_scatter:
        expect(c, 0, i, sum_over(c, c->members, c->own_rank, i));
        break;
      default:
        break;
    }
  }
}

static void finish(Open* c) {
  check(c);
  if (c->is_persistent) {
    MPI_Request_free(&c->request);
    if (c->is_own_op) MPI_Op_free(&c->op);
    if (c->is_own_type) MPI_Type_free(&c->type);
  }
  free(c->in), free(c->out), free(c->counts), free(c->places), free(c->byte_places), free(c->types);
  c->is_open = 0;
}

static void start(Open* c, MPI_Comm comm, int number) {
  MPI_Comm_size(comm, &c->members);
  MPI_Comm_rank(comm, &c->own_rank);
  c->is_open = 1;
  c->number = number;
  c->operation = (int)same(operation_count);
  c->count = (int)(same(4) == 0 ? same(most_count) + 1 : same(40));
  c->root = (int)same((unsigned)c->members);
  const size_t room = ((size_t)c->count * (size_t)c->members + 1) * sizeof(long);
  c->in = malloc(room), c->out = malloc(room);
  c->counts = malloc(sizeof(int) * (size_t)c->members), c->places = malloc(sizeof(int) * (size_t)c->members);
  c->byte_places = malloc(sizeof(int) * (size_t)c->members);
  c->types = malloc(sizeof(MPI_Datatype) * (size_t)c->members);
  MPI_Op op = MPI_SUM;
  MPI_Datatype type = MPI_LONG;
  const int is_own_op = same(3) == 0, is_own_type = same(3) == 0;
  const int is_persistent = same(3) == 0 && has_persistent;
  if (is_own_op) MPI_Op_create(add_longs, 1, &op);
  if (is_own_type) MPI_Type_contiguous(1, MPI_LONG, &type), MPI_Type_commit(&type);
  for (int b = 0; b < c->members; ++b) {
    c->counts[b] = c->count;
    c->places[b] = block_at(c, b) * c->count;
    c->byte_places[b] = c->places[b] * (int)sizeof(long);
    c->types[b] = b % 2 ? type : MPI_LONG;
  }
  fill(c);
  const int n = c->count;
  c->is_persistent = is_persistent;
#define START(number, Name, name, ...)                                 \
  case number:                                                         \
    if (is_persistent) {                                               \
      MPI_##Name##_init(__VA_ARGS__ comm, MPI_INFO_NULL, &c->request); \
    } else {                                                           \
      MPI_I##name(__VA_ARGS__ comm, &c->request);                      \
    }                                                                  \
    break;
  switch (c->operation) {
    START(0, Barrier, barrier, )
    START(1, Bcast, bcast, c->out, n, type, c->root, )
    START(2, Reduce, reduce, c->in, c->out, n, MPI_LONG, op, c->root, )
    START(3, Allreduce, allreduce, c->in, c->out, n, MPI_LONG, op, )
    START(4, Gather, gather, c->in, n, type, c->out, n, MPI_LONG, c->root, )
    START(5, Scatter, scatter, c->in, n, MPI_LONG, c->out, n, type, c->root, )
    START(6, Allgather, allgather, c->in, n, type, c->out, n, MPI_LONG, )
    START(7, Alltoall, alltoall, c->in, n, MPI_LONG, c->out, n, type, )
    START(8, Reduce_scatter_block, reduce_scatter_block, c->in, c->out, n, MPI_LONG, op, )
    START(9, Scan, scan, c->in, c->out, n, MPI_LONG, op, )
    START(10, Exscan, exscan, c->in, c->out, n, MPI_LONG, op, )
    START(11, Allgatherv, allgatherv, c->in, n, type, c->out, c->counts, c->places, MPI_LONG, )
    START(12, Gatherv, gatherv, c->in, n, type, c->out, c->counts, c->places, MPI_LONG, c->root, )
    START(13, Scatterv, scatterv, c->in, c->counts, c->places, MPI_LONG, c->out, n, type, c->root, )
    START(14, Alltoallv, alltoallv, c->in, c->counts, c->places, MPI_LONG, c->out, c->counts, c->places,
          type, )
    START(15, Alltoallw, alltoallw, c->in, c->counts, c->byte_places, c->types, c->out, c->counts,
          c->byte_places, c->types, )
    START(16, Reduce_scatter, reduce_scatter, c->in, c->out, c->counts, MPI_LONG, op, )
    default:
      break;
  }
#undef START
  c->op = op, c->is_own_op = is_own_op;
  c->type = type, c->is_own_type = is_own_type;
  if (!is_persistent) {
    // MPI keeps what it still needs.
    if (is_own_op) MPI_Op_free(&op);
    if (is_own_type) MPI_Type_free(&type);
    return;
  }
  // Such calls start in the same order everywhere.
  for (int turn = (int)same(most_turns); turn > 0; --turn) {
    MPI_Start(&c->request);
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    check(c);
    fill(c);
  }
  if (number % 2) {
    MPI_Start(&c->request);
  } else {
    MPI_Startall(1, &c->request);
  }
}

// Those under way, and one message to oneself among them.
static int gather_open(MPI_Request requests[], Open* of[]) {
  int count = 0;
  for (int i = 0; i < most_open; ++i) {
    if (!open_calls[i].is_open) continue;
    requests[count] = open_calls[i].request;
    of[count++] = &open_calls[i];
  }
  return count;
}

static void complete(Open* of[], const int completed[], int count) {
  for (int i = 0; i < count; ++i) finish(of[completed[i]]);
}

static void complete_some(void) {
  MPI_Request requests[most_open];
  MPI_Status statuses[most_open];
  Open* of[most_open];
  int completed[most_open], done = 0, flag = 0, index = MPI_UNDEFINED;
  const int count = gather_open(requests, of);
  if (count == 0) return;
  switch (own(9)) {
    case 0:
      MPI_Waitall(count, requests, statuses);
      for (int i = 0; i < count; ++i) finish(of[i]);
      return;
    case 1:
      MPI_Waitany(count, requests, &index, &statuses[0]);
      finish(of[index]);
      return;
    case 2:
      MPI_Waitsome(count, requests, &done, completed, statuses);
      complete(of, completed, done);
      return;
    case 3:
      MPI_Testsome(count, requests, &done, completed, statuses);
      complete(of, completed, done);
      return;
    case 4:
      MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
      if (flag) finish(of[index]);
      return;
    case 5:
      // MPICH 5 by itself fails where a persistent collective is among them.
      for (int i = 0; i < count; ++i) {
        if (of[i]->is_persistent) return;
      }
      MPI_Testall(count, requests, &flag, statuses);
      for (int i = 0; flag && i < count; ++i) finish(of[i]);
      return;
    case 6:
      while (!flag) MPI_Request_get_status(requests[count - 1], &flag, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[count - 1], MPI_STATUS_IGNORE);
      finish(of[count - 1]);
      return;
    case 7:
      while (!flag) MPI_Test(&requests[0], &flag, &statuses[0]);
      finish(of[0]);
      return;
    default:
      index = (int)own((unsigned)count);
      MPI_Wait(&requests[index], MPI_STATUS_IGNORE);
      finish(of[index]);
  }
}

static void complete_all(void) {
  for (int i = 0; i < most_open; ++i) {
    while (open_calls[i].is_open) {
      MPI_Wait(&open_calls[i].request, MPI_STATUS_IGNORE);
      finish(&open_calls[i]);
    }
  }
}

static Open* a_free_one(void) {
  for (;;) {
    for (int i = 0; i < most_open; ++i) {
      if (!open_calls[i].is_open) return &open_calls[i];
    }
    complete_some();
  }
}

static void random_steps(MPI_Comm comms[], int comm_count) {
  for (int step = 0; step < steps; ++step) {
    start(a_free_one(), comms[same((unsigned)comm_count)], step);
    if (same(10) == 0) {
      long mine = step, all = 0;
      MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, comms[same((unsigned)comm_count)]);
    }
    if (same(6) == 0) {
      const int right = (rank + 1) % size, left = (rank + size - 1) % size;
      long mine = rank, theirs = -1;
      MPI_Sendrecv(&mine, 1, MPI_LONG, right, 1, &theirs, 1, MPI_LONG, left, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      if (theirs != left) fail("sendrecv", 0, theirs, left);
    }
    if (own(3) == 0) complete_some();
  }
  complete_all();
}

// Rank 0 is the root and ends in a Recv. The last rank sends only when it has the data, which may go through
// any rank. So calls must go on while a rank waits for a message.
static void go_on_in_blocking_calls(MPI_Comm comm) {
  enum { count = 200000 };
  long* data = malloc(count * sizeof(long));
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < count; ++i) data[i] = rank == root ? root + i : -1;
    MPI_Request request;
    MPI_Ibcast(data, count, MPI_LONG, root, comm, &request);
    const int last = (root + size - 1) % size;
    long token = -1;
    if (rank == last && size > 1) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int other = 0; other < size; ++other) {
        token = data[count - 1];
        if (other != rank) MPI_Send(&token, 1, MPI_LONG, other, 5, MPI_COMM_WORLD);
      }
    } else if (size > 1) {
      if (root % 2) MPI_Probe(last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(&token, 1, MPI_LONG, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (token != root + count - 1) fail("token", root, token, root + count - 1);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; ++i) {
      if (data[i] != root + i) fail("bcast beside messages", i, data[i], root + i);
    }
  }
  free(data);
}

// Rank 0 is in the host, which does not know of the call that the others wait for.
static void go_on_in_the_host(void) {
  long mine[500], sums[500];
  for (int i = 0; i < 500; ++i) mine[i] = rank + i;
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request request;
    MPI_Iallreduce(mine, sums, 500, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_free(&other);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 500; ++i) {
      const long expected = (long)size * (size - 1) / 2 + (long)size * i;
      if (sums[i] != expected) fail("while in the host", i, sums[i], expected);
    }
  }
}

// A communicator that is freed before its calls have ended.
static void free_early(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  long mine[3000], sums[3000];
  for (int i = 0; i < 3000; ++i) mine[i] = rank + i;
  MPI_Request request, barrier;
  MPI_Ibarrier(comm, &barrier);
  MPI_Iallreduce(mine, sums, 3000, MPI_LONG, MPI_SUM, comm, &request);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3000; ++i) {
    const long expected = (long)size * (size - 1) / 2 + (long)size * i;
    if (sums[i] != expected) fail("freed communicator", i, sums[i], expected);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed_numbers(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1);
  has_persistent = has_persistent_collectives();
  if (size == 1) has_persistent = 0;  // Intel MPI's persistent gather of one rank delivers nothing
  MPI_Comm comms[3] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  random_steps(comms, 3);  // at first the made ones are not set up
  for (int i = 1; i < 3; ++i) MPI_Barrier(comms[i]);
  random_steps(comms, 3);
  go_on_in_blocking_calls(MPI_COMM_WORLD);
  go_on_in_the_host();
  free_early();
  for (int i = 1; i < 3; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) printf("OK\n"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
