// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each rank make, use and free communicators at the same time, each
// thread from a communicator of its own, with collectives of all kinds, in an order drawn from a seed (the
// same on all ranks): thread_communicators SEED [TURNS]. Prints "LEVEL n" and nothing else when the MPI
// provides less than MPI_THREAD_MULTIPLE.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { thread_count = 3, most_live = 5, most_elements = 3000, untouched = -7 };

static int world_rank, world_size, turns = 120;
static unsigned seed;
static MPI_Comm bases[thread_count];
static MPI_Op last_nonzero;  // the later one's element unless it is 0: does not commute

typedef struct {
  MPI_Comm comm;
  int rank, size;
} Member;

// One collective: what goes in, what comes out, and what should. Block r of an uneven operation has counts[r]
// elements.
typedef struct {
  const Member* member;
  int count, salt, root, which_op;
  MPI_Op op;
  int *in, *out, *want;
  int *counts, *places;
} Call;

static unsigned draw(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void apply_last_nonzero(void* first, void* later, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    if (((int*)later)[i] == 0) ((int*)later)[i] = ((int*)first)[i];
  }
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

static int value(const Call* call, int rank, int i) {
  const int drawn = (call->salt * 7919 + rank * 131 + i) % 100003;
  return drawn % 3 == 0 ? 0 : drawn;
}

// What the ranks `first` to `last` have at element i, combined.
static int combined(const Call* call, int first, int last, int i) {
  int result = value(call, first, i);
  for (int r = first + 1; r <= last; ++r) {
    const int next = value(call, r, i);
    if (call->which_op == 0) result += next;
    if (call->which_op == 1) result = next > result ? next : result;
    if (call->which_op == 2) result = next != 0 ? next : result;
  }
  return result;
}

static void want_combined(Call* call, int last, int begin, int count) {
  for (int i = 0; i < count; ++i) call->want[i] = combined(call, 0, last, begin + i);
}

static void want_block(Call* call, int place, int rank, int begin, int count) {
  for (int i = 0; i < count; ++i) call->want[place + i] = value(call, rank, begin + i);
}

// Blocks of all ranks, each from its own beginning, even or uneven.
static void want_blocks(Call* call, int is_uneven) {
  for (int r = 0; r < call->member->size; ++r) {
    want_block(call, is_uneven ? call->places[r] : r * call->count, r, 0,
               is_uneven ? call->counts[r] : call->count);
  }
}

static const char* call_even(Call* call, unsigned which) {
  const int count = call->count, rank = call->member->rank, size = call->member->size, root = call->root;
  int *in = call->in, *out = call->out;
  MPI_Comm comm = call->member->comm;
  switch (which) {
    case 0:
      want_combined(call, size - 1, 0, count);
      MPI_Allreduce(in, out, count, MPI_INT, call->op, comm);
      return "allreduce";
    case 1:
      want_block(call, 0, root, 0, count);
      if (rank == root) memcpy(out, in, sizeof *out * (size_t)count);
      MPI_Bcast(out, count, MPI_INT, root, comm);
      return "bcast";
    case 2:
      want_blocks(call, 0);
      MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
      return "allgather";
    case 3:
      if (rank == root) want_combined(call, size - 1, 0, count);
      MPI_Reduce(in, out, count, MPI_INT, call->op, root, comm);
      return "reduce";
    case 4:
      if (rank == root) want_blocks(call, 0);
      MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
      return "gather";
    case 5:
      want_block(call, 0, root, rank * count, count);
      MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm);
      return "scatter";
    case 6:
      for (int r = 0; r < size; ++r) want_block(call, r * count, r, rank * count, count);
      MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
      return "alltoall";
    case 7:
      want_combined(call, size - 1, rank * count, count);
      MPI_Reduce_scatter_block(in, out, count, MPI_INT, call->op, comm);
      return "reduce_scatter_block";
    case 8:
      want_combined(call, rank, 0, count);
      MPI_Scan(in, out, count, MPI_INT, call->op, comm);
      return "scan";
    case 9:
      if (rank > 0) want_combined(call, rank - 1, 0, count);
      MPI_Exscan(in, out, count, MPI_INT, call->op, comm);
      // What rank 0 gets is not defined.
      if (rank == 0) memcpy(call->want, out, sizeof *out * (size_t)count);
      return "exscan";
    default:
      MPI_Barrier(comm);
      return "barrier";
  }
}

static const char* call_uneven(Call* call, unsigned which) {
  const int rank = call->member->rank, size = call->member->size, root = call->root;
  const int *counts = call->counts, *places = call->places;
  int *in = call->in, *out = call->out, *own = (int*)malloc(sizeof(int) * 2 * (size_t)size);
  MPI_Comm comm = call->member->comm;
  const char* name = "";
  for (int r = 0; r < size; ++r) {
    own[r] = counts[rank];
    own[size + r] = r * counts[rank];
  }
  switch (which) {
    case 0:
      want_blocks(call, 1);
      MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
      name = "allgatherv";
      break;
    case 1:
      if (rank == root) want_blocks(call, 1);
      MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, comm);
      name = "gatherv";
      break;
    case 2:
      want_block(call, 0, root, places[rank], counts[rank]);
      MPI_Scatterv(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, comm);
      name = "scatterv";
      break;
    case 3:
      want_combined(call, size - 1, places[rank], counts[rank]);
      MPI_Reduce_scatter(in, out, counts, MPI_INT, call->op, comm);
      name = "reduce_scatter";
      break;
    default:
      for (int r = 0; r < size; ++r) want_block(call, r * counts[rank], r, places[rank], counts[rank]);
      MPI_Alltoallv(in, counts, places, MPI_INT, out, own, own + size, MPI_INT, comm);
      name = "alltoallv";
  }
  free(own);
  return name;
}

static void use(const Member* member, unsigned how, unsigned which, int thread, int turn) {
  const int lengths[] = {1, 5, 100, most_elements};
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, last_nonzero};
  const size_t elements = (size_t)member->size * most_elements;
  Call call = {member,
               lengths[(how >> 4) % 4],
               turn * thread_count + thread,
               (int)(how >> 8) % member->size,
               (int)(how >> 6) % 3,
               MPI_OP_NULL,
               NULL,
               NULL,
               NULL,
               NULL,
               NULL};
  call.op = ops[call.which_op];
  call.in = (int*)malloc(sizeof(int) * elements);
  call.out = (int*)malloc(sizeof(int) * elements);
  call.want = (int*)malloc(sizeof(int) * elements);
  call.counts = (int*)calloc(2 * (size_t)member->size, sizeof(int));
  call.places = call.counts + member->size;
  for (size_t i = 0; i < elements; ++i) {
    call.in[i] = value(&call, member->rank, (int)i);
    call.out[i] = call.want[i] = untouched;
  }
  for (int r = 0; r < member->size; ++r) {
    call.counts[r] = (int)((how >> 5) + (unsigned)r * 37u) % (call.count + 1);
    if (r > 0) call.places[r] = call.places[r - 1] + call.counts[r - 1];
  }
  const char* name = which % 16 < 11 ? call_even(&call, which % 16) : call_uneven(&call, which % 16 - 11);
  if (memcmp(call.out, call.want, sizeof(int) * elements) != 0) {
    size_t at = 0;
    while (call.out[at] == call.want[at]) ++at;
    fprintf(stderr, "seed %u, rank %d, thread %d, turn %d: %s (%d elements, %d ranks) is wrong at %zu: %d\n",
            seed, world_rank, thread, turn, name, call.count, member->size, at, call.out[at]);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  free(call.in);
  free(call.out);
  free(call.want);
  free(call.counts);
}

static void* run_thread(void* argument) {
  const int thread = (int)(intptr_t)argument;
  unsigned random = seed * 31u + (unsigned)thread;
  Member live[most_live];
  int count = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const unsigned what = draw(&random) % 8, which = draw(&random), how = draw(&random),
                   operation = draw(&random);
    if (count == 0 || (what == 0 && count < most_live)) {
      live[count++] = make(bases[thread], how);
    } else if (what == 1) {
      const int place = (int)(which % (unsigned)count);
      MPI_Comm_free(&live[place].comm);
      live[place] = live[--count];
    } else {
      use(&live[which % (unsigned)count], how, operation, thread, turn);
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
  if (argument_count > 2) turns = atoi(arguments[2]);
  MPI_Op_create(apply_last_nonzero, 0, &last_nonzero);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &bases[i]);
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run_thread, (void*)(intptr_t)i);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_free(&bases[i]);
  MPI_Op_free(&last_nonzero);
  if (world_rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
