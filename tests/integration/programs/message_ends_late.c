// SPDX-License-Identifier: BSD-3-Clause
// Messages in MPI_Finalize: delete functions of MPI_COMM_SELF's attributes may use all of MPI (MPI 4.1,
// section 11.4.2). Each rank has one that receives what was sent before and sends to others, by all kinds of
// calls. Prints OK, or what was wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { long_count = 100000, tag_before = 1, tag_long, tag_within, tag_begun };

static int rank, size, wrong, deletions;
static int *sent_long, *got_long;
static MPI_Request begun_long, begun_receive;
static int begun_value;
static MPI_Comm other;

static void check(int is_right, const char* what) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static int next(void) {
  return (rank + 1) % size;
}

static int before(void) {
  return (rank + size - 1) % size;
}

// The last one that was set, which goes first: messages that were sent before MPI_Finalize.
static int receive_what_was_sent(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  int got = -1;
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, tag_before, MPI_COMM_WORLD, &status);
  check(status.MPI_SOURCE == before(), "source of a message from before");
  MPI_Recv(&got, 1, MPI_INT, before(), tag_before, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(got == before(), "value from before");
  MPI_Recv(got_long, long_count, MPI_INT, before(), tag_long, other, MPI_STATUS_IGNORE);
  MPI_Wait(&begun_long, MPI_STATUS_IGNORE);
  for (int i = 0; i < long_count; ++i) check(got_long[i] == before() + i, "long data from before");
  ++deletions;
  return MPI_SUCCESS;
}

// The first one that was set: messages that begin in MPI_Finalize.
static int exchange(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  int got = -1, sum = 0;
  MPI_Sendrecv(&rank, 1, MPI_INT, next(), tag_within, &got, 1, MPI_INT, before(), tag_within, other,
               MPI_STATUS_IGNORE);
  check(got == before(), "value of an exchange");
  MPI_Send(&rank, 1, MPI_INT, next(), tag_begun, MPI_COMM_WORLD);
  MPI_Wait(&begun_receive, MPI_STATUS_IGNORE);
  check(begun_value == before(), "value of a receive from before");
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "sum");
  MPI_Comm_free(&other);
  ++deletions;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int keys[2], provided;
  const int is_multiple = argc > 1;
  MPI_Init_thread(&argc, &argv, is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, exchange, &keys[0], NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, receive_what_was_sent, &keys[1], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], NULL);
  sent_long = malloc(long_count * sizeof *sent_long), got_long = calloc(long_count, sizeof *got_long);
  for (int i = 0; i < long_count; ++i) sent_long[i] = rank + i;
  MPI_Irecv(&begun_value, 1, MPI_INT, before(), tag_begun, MPI_COMM_WORLD, &begun_receive);
  MPI_Send(&rank, 1, MPI_INT, next(), tag_before, MPI_COMM_WORLD);
  MPI_Isend(sent_long, long_count, MPI_INT, next(), tag_long, other, &begun_long);
  MPI_Finalize();
  check(deletions == 2, "number of deletions");
  if (rank == 0 && wrong == 0) puts("OK");
  free(sent_long), free(got_long);
  return wrong != 0;
}
