// SPDX-License-Identifier: BSD-3-Clause
// Communicators that make none but non-blocking collectives. Their calls come one after the other, many ahead
// of other ranks, between the MPI's own collectives on the same communicator, and while a rank waits for a
// message. The communicators are freed at once or never. Every result is computed here. Prints OK.
//
//   set_up_aside [calls]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 300, most_ahead = 40, few = 6, operations = 5 };

static int world_rank, world_size;

typedef struct {
  MPI_Comm comm;
  MPI_Request request;
  int number, rank, size;
  long *in, *out;
} Started;

static void fail(const Started* s, int at, long expected) {
  fprintf(stderr, "rank %d: call %d at %d: %ld instead of %ld\n", world_rank, s->number, at, s->out[at],
          expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static long value(int number, int rank, int i) {
  return number * 1009L + rank * 31L + i;
}

// Call `number` on the communicator: which one it is goes by the number.
static void start(Started* s, MPI_Comm comm, int number) {
  s->comm = comm, s->number = number;
  MPI_Comm_rank(comm, &s->rank);
  MPI_Comm_size(comm, &s->size);
  const size_t room = (size_t)count * (size_t)s->size * sizeof(long);
  s->in = malloc(room), s->out = malloc(room);
  for (int i = 0; i < count * s->size; ++i) s->in[i] = value(number, s->rank, i), s->out[i] = -1;
  const int root = number % s->size;
  switch (number % operations) {
    case 0:
      MPI_Iallreduce(s->in, s->out, count, MPI_LONG, MPI_SUM, comm, &s->request);
      break;
    case 1:
      if (s->rank == root) {
        for (int i = 0; i < count; ++i) s->out[i] = s->in[i];
      }
      MPI_Ibcast(s->out, count, MPI_LONG, root, comm, &s->request);
      break;
    case 2:
      MPI_Iallgather(s->in, count, MPI_LONG, s->out, count, MPI_LONG, comm, &s->request);
      break;
    case 3:
      MPI_Ibarrier(comm, &s->request);
      break;
    default:
      MPI_Ialltoall(s->in, count, MPI_LONG, s->out, count, MPI_LONG, comm, &s->request);
  }
}

static void expect(const Started* s, int at, long expected) {
  if (s->out[at] != expected) fail(s, at, expected);
}

static void finish(Started* s) {
  MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  const int root = s->number % s->size;
  for (int i = 0; i < count; ++i) {
    long sum = 0;
    for (int r = 0; r < s->size; ++r) sum += value(s->number, r, i);
    if (s->number % operations == 0) expect(s, i, sum);
    if (s->number % operations == 1) expect(s, i, value(s->number, root, i));
    for (int r = 0; r < s->size; ++r) {
      if (s->number % operations == 2) expect(s, r * count + i, value(s->number, r, i));
      if (s->number % operations == 4) expect(s, r * count + i, value(s->number, r, s->rank * count + i));
    }
  }
  free(s->in), free(s->out);
}

static void one_after_the_other(MPI_Comm comm, int calls) {
  for (int i = 0; i < calls; ++i) {
    Started s;
    start(&s, comm, i);
    finish(&s);
  }
}

// Ranks start theirs in turn, each when the one before has started all: no call may wait for another rank.
static void far_ahead(MPI_Comm comm) {
  static Started started[most_ahead];
  for (int turn = 0; turn < 3; ++turn) {
    long token = 0;
    if (world_rank > 0) MPI_Recv(&token, 1, MPI_LONG, world_rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < most_ahead; ++i) start(&started[i], comm, i + turn);
    if (world_rank + 1 < world_size) MPI_Send(&token, 1, MPI_LONG, world_rank + 1, 3, MPI_COMM_WORLD);
    for (int i = 0; i < most_ahead; ++i) finish(&started[i]);
  }
}

// The MPI's own collectives on the same communicator keep their place among the others.
static void beside_those_of_the_host(MPI_Comm comm) {
  static Started started[4];
  for (int round = 0; round < few; ++round) {
    for (int i = 0; i < 4; ++i) {
      start(&started[i], comm, round * 4 + i);
      if (i % 2 == 0) continue;
      MPI_Comm other;
      MPI_Comm_dup(comm, &other);
      MPI_Comm_free(&other);
    }
    for (int i = 4; i-- > 0;) finish(&started[i]);
  }
}

// Rank 0 waits for a message that is sent when the call is over elsewhere.
static void while_a_message_is_awaited(MPI_Comm comm) {
  for (int i = 0; i < 4 * few; ++i) {
    Started s;
    start(&s, comm, operations * i);
    long token = i;
    if (world_rank == 0 && world_size > 1) {
      MPI_Recv(&token, 1, MPI_LONG, world_size - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      finish(&s);
    } else {
      finish(&s);
      if (world_rank == world_size - 1 && world_size > 1) MPI_Send(&token, 1, MPI_LONG, 0, 4, MPI_COMM_WORLD);
    }
  }
}

// Open MPI by itself crashes where calls of its own are under way on a communicator that is freed.
#ifdef OMPI_MAJOR_VERSION
enum { may_free_under_way = 0 };
#else
enum { may_free_under_way = 1 };
#endif

static void freed_at_once(void) {
  for (int calls = 1; calls <= 2 * few; ++calls) {
    MPI_Comm comm;
    Started started[2 * few];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < calls; ++i) start(&started[i], comm, i);
    if (may_free_under_way) MPI_Comm_free(&comm);
    for (int i = 0; i < calls; ++i) finish(&started[i]);
    if (!may_free_under_way) MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  const int calls = argc > 1 ? atoi(argv[1]) : 200;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm backwards, halves, fresh[3], kept;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &halves);
  for (int i = 0; i < 3; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &fresh[i]);
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  one_after_the_other(backwards, calls);
  one_after_the_other(halves, calls);
  far_ahead(fresh[0]);
  beside_those_of_the_host(fresh[1]);
  while_a_message_is_awaited(fresh[2]);
  freed_at_once();
  one_after_the_other(kept, 1);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&fresh[i]);
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&halves);
  if (world_rank == 0) printf("OK\n"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
