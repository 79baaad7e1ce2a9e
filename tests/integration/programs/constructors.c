// SPDX-License-Identifier: BSD-3-Clause
// How communicators are made and go. There are duplicates that are made aside, copies that fail, groups, and
// more communicators than an MPI has. Messages and collectives are under way on one that is freed. Each case
// asks only what MPI promises, and computes what it expects from the rank numbers. Prints OK.
//
//   constructors [case]...     all cases, or those named

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { duplicates = 5, most_communicators = 2300, used_communicators = 48, turns = 100, message = 100000 };

static int rank, size;

static void expect(int is_right, const char* what, long got, long expected) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, got, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect_equal(const char* what, long got, long expected) {
  expect(got == expected, what, got, expected);
}

// A collective of each kind on `comm`, whose results depend on its ranks and on `seed`.
static void use(MPI_Comm comm, int seed) {
  int own, count;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &count);
  int value = own + seed, sum = -1, root_value = own == count - 1 ? seed : -1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect_equal("allreduce", sum, (long)count * seed + (long)count * (count - 1) / 2);
  MPI_Bcast(&root_value, 1, MPI_INT, count - 1, comm);
  expect_equal("bcast", root_value, seed);
  int* all = malloc((size_t)count * sizeof *all);
  MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < count; ++i) expect_equal("allgather", all[i], i + seed);
  free(all);
}

// Duplicates are made while the parent's collectives go on. (One at a time, and without calls of the parent
// that do not block: with those Open MPI by itself delivers wrong sums now and then, or stands still.)
static void made_aside(void) {
  MPI_Comm copies[duplicates];
  for (int i = 0; i < duplicates; ++i) {
    MPI_Request request;
    MPI_Comm_idup(i == 0 ? MPI_COMM_WORLD : copies[i - 1], &copies[i], &request);
    use(MPI_COMM_WORLD, 10 + i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(copies[i], 3 + i);
  }
  for (int i = duplicates; i-- > 0;) {
    use(copies[i], i);
    MPI_Comm_free(&copies[i]);
  }
}

// What is under way on a communicator that is freed ends normally.
static void freed_with_calls_under_way(void) {
  static int outgoing[message], incoming[message];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  use(comm, 1);
  for (int i = 0; i < message; ++i) outgoing[i] = rank + i, incoming[i] = -1;
  MPI_Request requests[4];
  int value = rank + 1, sum = -1, root_value = rank == 0 ? 77 : -1;
  MPI_Irecv(incoming, message, MPI_INT, left, 5, comm, &requests[0]);
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  MPI_Isend(outgoing, message, MPI_INT, right, 5, comm, &requests[2]);
  MPI_Ibcast(&root_value, 1, MPI_INT, 0, comm, &requests[3]);
  MPI_Comm_free(&comm);
  expect(comm == MPI_COMM_NULL, "the freed handle", 1, 0);
  MPI_Comm others;  // the handle may come again
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &others);
  use(others, 4);
  MPI_Status statuses[4];
  MPI_Waitall(4, requests, statuses);
  expect_equal("iallreduce", sum, (long)size * (size + 1) / 2);
  expect_equal("ibcast", root_value, 77);
  for (int i = 0; i < message; ++i) expect_equal("message", incoming[i], left + i);
  MPI_Comm_free(&others);
}

static int refuse_copy(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)key, (void)extra, (void)value, (void)copy;
  *flag = 0;
  return MPI_ERR_OTHER;
}

// A copy function that fails makes MPI_Comm_dup fail; the communicator itself goes on.
static void copy_that_fails(void) {
  MPI_Comm comm, copy = MPI_COMM_NULL;
  int key;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  use(comm, 2);
  MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, &key);
  const int error = MPI_Comm_dup(comm, &copy);
  expect(error != MPI_SUCCESS, "error of a dup whose copy function fails", error, 1);
  use(comm, 5);
  MPI_Comm_delete_attr(comm, key);
  MPI_Comm_dup(comm, &copy);
  use(copy, 6);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
}

// Ranks of one group make a communicator, while those outside do something else.
static void of_groups(void) {
  MPI_Group world, half;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int ranges[1][3] = {{rank % 2, rank % 2 == (size - 1) % 2 ? size - 1 : size - 2, 2}};
  if (size == 1) ranges[0][1] = 0;
  MPI_Group_range_incl(world, 1, ranges, &half);
  for (int turn = 0; turn < 3; ++turn) {
    if (rank % 2 == 0 || turn == 0) {
      MPI_Comm_create_group(MPI_COMM_WORLD, half, 10 + rank % 2, &comm);
      use(comm, turn);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
  use(comm, 8);
  MPI_Comm_free(&comm);
  MPI_Group_free(&half);
  MPI_Group_free(&world);
}

// More communicators than some MPIs have: where one cannot be made, all ranks learn it; where they were freed
// new ones can be made again.
static void more_than_there_are(void) {
  static MPI_Comm comms[most_communicators];
  MPI_Comm base;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &base);
  MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN);
  int made = 0;
  while (made < most_communicators && MPI_Comm_split(base, 0, rank, &comms[made]) == MPI_SUCCESS) {
    if (made < used_communicators) use(comms[made], made);
    ++made;
  }
  int least = -1, most = -1;
  MPI_Allreduce(&made, &least, 1, MPI_INT, MPI_MIN, base);
  MPI_Allreduce(&made, &most, 1, MPI_INT, MPI_MAX, base);
  expect_equal("communicators made, on all ranks alike", least, most);
  expect(made > 1000, "communicators made, at least", made, 1000);
  use(comms[made - 1], 9);
  use(comms[0], 10);
  for (int i = 0; i < made; ++i) MPI_Comm_free(&comms[i]);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm comm;
    MPI_Comm_split(base, turn % 3 == 0 ? rank % 2 : 0, turn % 2 == 0 ? rank : -rank, &comm);
    use(comm, turn);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&base);
}

typedef struct {
  const char* name;
  void (*run)(void);
} Case;
static const Case cases[] = {{"made_aside", made_aside},
                             {"freed_with_calls_under_way", freed_with_calls_under_way},
                             {"copy_that_fails", copy_that_fails},
                             {"of_groups", of_groups},
                             {"more_than_there_are", more_than_there_are}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int is_chosen = argc == 1;
    for (int k = 1; k < argc; ++k) is_chosen = is_chosen || strcmp(argv[k], cases[i].name) == 0;
    if (is_chosen) cases[i].run();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
