// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block in MPI_Finalize: delete functions of MPI_COMM_SELF's attributes may use all of MPI
// (MPI 4.1, section 11.4.2). Calls are under way when it begins, some begin in it, and one does so on some
// ranks alone. The last rank comes to it when the others have been in theirs. Prints OK, or what was wrong.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { calls = 9, tag_late = 5, milliseconds = 1000 };

static int rank, size, wrong, deletions;
static MPI_Comm other;
static MPI_Request sums[calls], begun_by_some, message;
static MPI_Status statuses[calls];
static int own[calls], sum[calls], some_own, some_sum, got = -1;

static void check(int is_right, const char* what) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static int ranks_before(void) {
  return size * (size - 1) / 2;
}

static int has_begun_early(void) {
  return rank % 3 != 1;
}

static void begin_late(void) {
  some_own = 2 * rank;
  MPI_Iallreduce(&some_own, &some_sum, 1, MPI_INT, MPI_SUM, other, &begun_by_some);
}

// The last one that was set, which goes first: what was under way.
static int wait_for_what_was_begun(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, size - 1, tag_late, MPI_COMM_WORLD);
  if (!has_begun_early()) begin_late();
  int is_over = 0;
  while (!is_over) MPI_Test(&sums[0], &is_over, MPI_STATUS_IGNORE);
  MPI_Waitall(calls - 1, sums + 1, statuses);
  for (int i = 0; i < calls; ++i) check(sum[i] == ranks_before() + i * size, "sum from before");
  MPI_Wait(&begun_by_some, MPI_STATUS_IGNORE);
  check(some_sum == 2 * ranks_before(), "sum that some have begun before");
  if (rank == 1) MPI_Wait(&message, MPI_STATUS_IGNORE);
  check(rank != 1 || got == 77, "message");
  ++deletions;
  return MPI_SUCCESS;
}

// The first one that was set: calls that begin in MPI_Finalize.
static int begin_more(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  int in = rank + 1, total = 0, of_root = rank == 0 ? 13 : 0, blocking = 0;
  MPI_Request more[3];
  MPI_Iallreduce(&in, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &more[0]);
  MPI_Ibcast(&of_root, 1, MPI_INT, 0, other, &more[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &more[2]);
  MPI_Waitall(3, more, statuses);
  MPI_Allreduce(&in, &blocking, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check(total == ranks_before() + size && of_root == 13 && blocking == size, "calls that began here");
  MPI_Comm_free(&other);
  ++deletions;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int keys[2], provided;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, begin_more, &keys[0], NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_for_what_was_begun, &keys[1], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], NULL);
  // Before that a few that end, so that all is set up.
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Iallreduce(&rank, &got, 1, MPI_INT, MPI_SUM, i == 0 ? other : MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  got = -1;
  if (rank == 1) MPI_Irecv(&got, 1, MPI_INT, size - 1, tag_late, MPI_COMM_WORLD, &message);
  for (int i = 0; i < calls; ++i) {
    own[i] = rank + i;
    MPI_Iallreduce(&own[i], &sum[i], 1, MPI_INT, MPI_SUM, i % 2 ? other : MPI_COMM_WORLD, &sums[i]);
  }
  if (has_begun_early()) begin_late();
  if (rank == size - 1) {
    int from_0 = -1, late = 77;
    MPI_Request request;
    MPI_Irecv(&from_0, 1, MPI_INT, 0, tag_late, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(from_0 == 0, "message of rank 0 in MPI_Finalize");
    usleep(100 * milliseconds);
    MPI_Send(&late, 1, MPI_INT, 1, tag_late, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  check(deletions == 2, "number of deletions");
  if (rank == 0 && wrong == 0) puts("OK");
  return wrong != 0;
}
