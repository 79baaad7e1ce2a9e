// SPDX-License-Identifier: BSD-3-Clause
// Messages of a library that a program loads when it runs, in each way of loading. Three things are made of
// this file: the library (IS_PLUGIN), a program that has no MPI of its own, and one that has (IS_LINKED).
//     message_plugin PLUGIN [global] [deep] [LIBRARY...]
// global, deep: by RTLD_GLOBAL, by RTLD_DEEPBIND. Each LIBRARY is loaded before the plugin, in the same way.
// Prints OK, or what was wrong.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(IS_PLUGIN) || defined(IS_LINKED)
#include <mpi.h>

// MPICH 4's header says that MPI_STATUSES_IGNORE is an array.
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static int failures, rank, size;
#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition) && failures++ < 20)                                     \
      fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition); \
  } while (0)

// Around the ring, in several ways, short and long.
static void send_around(MPI_Comm comm, int first_tag) {
  enum { most = 100000, kinds = 4 };
  static const int lengths[kinds] = {0, 7, 3000, most};
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int* out = malloc(most * sizeof *out);
  int* in = malloc(kinds * most * sizeof *in);
  MPI_Request requests[2 * kinds];
  MPI_Status statuses[2 * kinds], status;
  for (int i = 0; i < most; ++i) out[i] = rank + i;
  for (int k = 0; k < kinds; ++k) {
    MPI_Irecv(in + k * most, most, MPI_INT, previous, first_tag + k, comm, &requests[k]);
    MPI_Isend(out, lengths[k], MPI_INT, next, first_tag + k, comm, &requests[kinds + k]);
  }
  MPI_Waitall(2 * kinds, requests, statuses);
  for (int k = 0; k < kinds; ++k) {
    int count = -1;
    MPI_Get_count(&statuses[k], MPI_INT, &count);
    CHECK(count == lengths[k] && statuses[k].MPI_SOURCE == previous && statuses[k].MPI_TAG == first_tag + k);
    for (int i = 0; i < count; i += 101) CHECK(in[k * most + i] == previous + i);
  }
  MPI_Message message;
  MPI_Isend(out, 5, MPI_INT, next, first_tag, comm, &requests[0]);
  MPI_Mprobe(MPI_ANY_SOURCE, first_tag, comm, &message, &status);
  MPI_Mrecv(in, 5, MPI_INT, &message, &status);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(status.MPI_SOURCE == previous && in[4] == previous + 4);
  MPI_Send_init(out, most, MPI_INT, next, first_tag, comm, &requests[0]);
  MPI_Recv_init(in, most, MPI_INT, previous, first_tag, comm, &requests[1]);
  for (int turn = 0; turn < 3; ++turn) {
    memset(in, 0, most * sizeof *in);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[most - 1] == previous + most - 1);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  free(out);
  free(in);
}

static void begin(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}
#endif

#if defined(IS_PLUGIN)
// In a program that has the MPI running, or alone.
int run(int is_running) {
  MPI_Comm comm;
  if (!is_running) MPI_Init(NULL, NULL);
  begin();
  send_around(MPI_COMM_WORLD, 100);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int turn = 0; turn < 20; ++turn) send_around(comm, 0);
  MPI_Comm_free(&comm);
  int sum = -1;
  MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!is_running && rank == 0) printf(sum == 0 ? "OK\n" : "%d failures\n", sum);
  if (!is_running) MPI_Finalize();
  return sum;
}
#else

static void* loaded(const char* path, int how) {
  void* library = dlopen(path, RTLD_NOW | how);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  if (library == NULL) exit(1);
  return library;
}

int main(int argc, char** argv) {
  int how = RTLD_LOCAL, is_running = 0, wrong = 0;
  int (*run)(int) = NULL;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "global") == 0) {
      how |= RTLD_GLOBAL;
    } else if (strcmp(argv[i], "deep") == 0) {
      how |= RTLD_DEEPBIND;
    } else {
      loaded(argv[i], how);
    }
  }
#if defined(IS_LINKED)
  is_running = 1;
  MPI_Init(&argc, &argv);
  begin();
  send_around(MPI_COMM_WORLD, 0);
  // Under way meanwhile.
  int in = -1;
  MPI_Request requests[2];
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 50, MPI_COMM_WORLD, &requests[0]);
#endif
  *(void**)&run = dlsym(loaded(argv[1], how), "run");
  if (run == NULL) return 1;
  wrong = run(is_running);
#if defined(IS_LINKED)
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 50, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in == (rank + size - 1) % size);
  send_around(MPI_COMM_WORLD, 0);
  MPI_Allreduce(&failures, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong += in;
  if (rank == 0) printf(wrong == 0 ? "OK\n" : "%d failures\n", wrong);
  MPI_Finalize();
#endif
  return wrong != 0;
}
#endif
