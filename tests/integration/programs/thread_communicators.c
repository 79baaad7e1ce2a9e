// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each rank make, use and free communicators at the same time, each
// thread from a communicator of its own, in an order drawn from the seed that is given (the same on all
// ranks). Prints "LEVEL n" and nothing else when the MPI provides less than MPI_THREAD_MULTIPLE.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { thread_count = 3, turns = 120, most_live = 5, most_elements = 3000 };

static int world_rank, world_size;
static unsigned seed;
static MPI_Comm bases[thread_count];

typedef struct {
  MPI_Comm comm;
  int rank, size;
} Member;

static unsigned draw(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void expect(int is_right, const char* what, int thread, int turn) {
  if (is_right) return;
  fprintf(stderr, "seed %u, rank %d, thread %d, turn %d: %s is wrong\n", seed, world_rank, thread, turn,
          what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static Member make(MPI_Comm base, unsigned how) {
  Member made;
  const int colors[] = {0, world_rank / 2, world_rank % 2, world_rank == 0};
  if (how % 5 == 4) {
    MPI_Comm_dup(base, &made.comm);
  } else {
    MPI_Comm_split(base, colors[how % 5], how & 8 ? -world_rank : world_rank, &made.comm);
  }
  MPI_Comm_rank(made.comm, &made.rank);
  MPI_Comm_size(made.comm, &made.size);
  return made;
}

static int value(int salt, int rank, int i) {
  return (salt * 7919 + rank * 131 + i) % 100003;
}

static void use(const Member* member, unsigned how, int thread, int turn) {
  const int counts[] = {1, 5, 100, most_elements};
  const int count = counts[(how >> 4) % 4], salt = turn * thread_count + thread,
            root = (int)(how >> 8) % member->size;
  int* in = (int*)malloc(sizeof *in * most_elements);
  int* out = (int*)malloc(sizeof *out * most_elements * (size_t)member->size);
  for (int i = 0; i < count; ++i) in[i] = value(salt, member->rank, i);
  switch (how % 4) {
    case 0:
      MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, member->comm);
      for (int i = 0; i < count; ++i) {
        int most = 0;
        for (int r = 0; r < member->size; ++r) most = value(salt, r, i) > most ? value(salt, r, i) : most;
        expect(out[i] == most, "allreduce", thread, turn);
      }
      break;
    case 1:
      MPI_Bcast(in, count, MPI_INT, root, member->comm);
      for (int i = 0; i < count; ++i) expect(in[i] == value(salt, root, i), "bcast", thread, turn);
      break;
    case 2:
      MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, member->comm);
      for (int r = 0; r < member->size; ++r) {
        for (int i = 0; i < count; ++i)
          expect(out[r * count + i] == value(salt, r, i), "allgather", thread, turn);
      }
      break;
    default:
      MPI_Barrier(member->comm);
  }
  free(in);
  free(out);
}

static void* run_thread(void* argument) {
  const int thread = (int)(intptr_t)argument;
  unsigned random = seed * 31u + (unsigned)thread;
  Member live[most_live];
  int count = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const unsigned what = draw(&random) % 4, which = draw(&random), how = draw(&random);
    if (count == 0 || (what == 0 && count < most_live)) {
      live[count++] = make(bases[thread], how);
    } else if (what == 1) {
      const int place = (int)(which % (unsigned)count);
      MPI_Comm_free(&live[place].comm);
      live[place] = live[--count];
    } else {
      use(&live[which % (unsigned)count], how, thread, turn);
    }
  }
  while (count > 0) MPI_Comm_free(&live[--count].comm);
  return NULL;
}

int main(int argument_count, char** arguments) {
  int provided;
  pthread_t threads[thread_count];
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (world_rank == 0) printf("LEVEL %d\n", provided);
    MPI_Finalize();
    return 0;
  }
  seed = argument_count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 1;
  for (int i = 0; i < thread_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &bases[i]);
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run_thread, (void*)(intptr_t)i);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_free(&bases[i]);
  if (world_rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
