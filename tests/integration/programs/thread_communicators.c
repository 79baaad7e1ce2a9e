// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each rank make, use and free communicators at the same time, each
// thread from a communicator of its own. They make collectives of all kinds and forms, in an order drawn from
// a seed (the same on all ranks):
//     thread_communicators SEED [TURNS]
// Several calls that do not block are under way on a communicator at once, blocking ones between them. Each
// rank completes them in an order of its own, by waits and tests of several kinds. Prints the seed, and then
// "LEVEL n" alone when the MPI provides less than MPI_THREAD_MULTIPLE.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"

enum { thread_count = 3, most_live = 5, most_elements = 3000, untouched = -7, most_open = 5 };
typedef enum { blocking, non_blocking, persistent } Form;

static int world_rank, world_size, turns = 120, has_persistent;
static unsigned seed;
static MPI_Comm bases[thread_count];
static MPI_Op last_nonzero;  // the later one's element unless it is 0: does not commute

typedef struct {
  MPI_Comm comm;
  int rank, size;
} Member;

// One collective, from its start until its result is checked: what goes in, what comes out, and what should.
// Block r of an uneven operation has counts[r] elements.
typedef struct {
  const Member* member;
  int count, salt, root, which_op;
  MPI_Op op;
  int *in, *out, *want;
  int *counts, *places, *own;  // own: what an alltoallv gets, counts and places
  Form form;
  MPI_Request request;
  const char* name;
  int thread, turn;
} Call;

// Makes the collective in the call's form.
#define MAKE(Name, name, ...)                                              \
  (call->form == blocking       ? MPI_##Name(__VA_ARGS__)                  \
   : call->form == non_blocking ? MPI_I##name(__VA_ARGS__, &call->request) \
                                : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &call->request))

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
      MAKE(Allreduce, allreduce, in, out, count, MPI_INT, call->op, comm);
      return "allreduce";
    case 1:
      want_block(call, 0, root, 0, count);
      if (rank == root) memcpy(out, in, sizeof *out * (size_t)count);
      MAKE(Bcast, bcast, out, count, MPI_INT, root, comm);
      return "bcast";
    case 2:
      want_blocks(call, 0);
      MAKE(Allgather, allgather, in, count, MPI_INT, out, count, MPI_INT, comm);
      return "allgather";
    case 3:
      if (rank == root) want_combined(call, size - 1, 0, count);
      MAKE(Reduce, reduce, in, out, count, MPI_INT, call->op, root, comm);
      return "reduce";
    case 4:
      if (rank == root) want_blocks(call, 0);
      MAKE(Gather, gather, in, count, MPI_INT, out, count, MPI_INT, root, comm);
      return "gather";
    case 5:
      want_block(call, 0, root, rank * count, count);
      MAKE(Scatter, scatter, in, count, MPI_INT, out, count, MPI_INT, root, comm);
      return "scatter";
    case 6:
      for (int r = 0; r < size; ++r) want_block(call, r * count, r, rank * count, count);
      MAKE(Alltoall, alltoall, in, count, MPI_INT, out, count, MPI_INT, comm);
      return "alltoall";
    case 7:
      want_combined(call, size - 1, rank * count, count);
      MAKE(Reduce_scatter_block, reduce_scatter_block, in, out, count, MPI_INT, call->op, comm);
      return "reduce_scatter_block";
    case 8:
      want_combined(call, rank, 0, count);
      MAKE(Scan, scan, in, out, count, MPI_INT, call->op, comm);
      return "scan";
    case 9:
      if (rank > 0) want_combined(call, rank - 1, 0, count);
      MAKE(Exscan, exscan, in, out, count, MPI_INT, call->op, comm);
      return "exscan";
    default:
      MAKE(Barrier, barrier, comm);
      return "barrier";
  }
}

static const char* call_uneven(Call* call, unsigned which) {
  const int rank = call->member->rank, size = call->member->size, root = call->root;
  const int *counts = call->counts, *places = call->places;
  int *in = call->in, *out = call->out, *own = call->own;
  MPI_Comm comm = call->member->comm;
  for (int r = 0; r < size; ++r) {
    own[r] = counts[rank];
    own[size + r] = r * counts[rank];
  }
  switch (which) {
    case 0:
      want_blocks(call, 1);
      MAKE(Allgatherv, allgatherv, in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
      return "allgatherv";
    case 1:
      if (rank == root) want_blocks(call, 1);
      MAKE(Gatherv, gatherv, in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, comm);
      return "gatherv";
    case 2:
      want_block(call, 0, root, places[rank], counts[rank]);
      MAKE(Scatterv, scatterv, in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, comm);
      return "scatterv";
    case 3:
      want_combined(call, size - 1, places[rank], counts[rank]);
      MAKE(Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT, call->op, comm);
      return "reduce_scatter";
    default:
      for (int r = 0; r < size; ++r) want_block(call, r * counts[rank], r, places[rank], counts[rank]);
      MAKE(Alltoallv, alltoallv, in, counts, places, MPI_INT, out, own, own + size, MPI_INT, comm);
      return "alltoallv";
  }
}

static size_t elements_of(const Call* call) {
  return (size_t)call->member->size * most_elements;
}

static void fill(Call* call) {
  for (size_t i = 0; i < elements_of(call); ++i) {
    call->in[i] = value(call, call->member->rank, (int)i);
    call->out[i] = untouched;
  }
}

static void begin(Call* call, const Member* member, Form form, unsigned how, unsigned which, int thread,
                  int turn) {
  const int lengths[] = {1, 5, 100, most_elements};
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, last_nonzero};
  *call = (Call){.member = member,
                 .count = lengths[(how >> 4) % 4],
                 .salt = turn * thread_count + thread,
                 .root = (int)(how >> 8) % member->size,
                 .which_op = (int)(how >> 6) % 3,
                 .form = form,
                 .request = MPI_REQUEST_NULL,
                 .thread = thread,
                 .turn = turn};
  const size_t bytes = sizeof(int) * elements_of(call), peers = (size_t)member->size;
  call->op = ops[call->which_op];
  call->in = (int*)malloc(bytes);
  call->out = (int*)malloc(bytes);
  call->want = (int*)malloc(bytes);
  call->counts = (int*)calloc(4 * peers, sizeof(int));
  call->places = call->counts + peers;
  call->own = call->places + peers;
  fill(call);
  for (size_t i = 0; i < elements_of(call); ++i) call->want[i] = untouched;
  for (int r = 0; r < member->size; ++r) {
    call->counts[r] = (int)((how >> 5) + (unsigned)r * 37u) % (call->count + 1);
    if (r > 0) call->places[r] = call->places[r - 1] + call->counts[r - 1];
  }
  call->name = which % 16 < 11 ? call_even(call, which % 16) : call_uneven(call, which % 16 - 11);
  if (form == persistent) MPI_Start(&call->request);
}

static void check(const Call* call) {
  const int* out = call->out;
  // What rank 0 gets of an exclusive scan is not defined.
  if (call->member->rank == 0 && strcmp(call->name, "exscan") == 0) return;
  if (memcmp(out, call->want, sizeof(int) * elements_of(call)) == 0) return;
  const char* const forms[] = {"blocking", "non-blocking", "persistent"};
  size_t at = 0;
  while (out[at] == call->want[at]) ++at;
  fprintf(stderr, "seed %u, rank %d, thread %d, turn %d: %s %s (%d elements, %d ranks) is wrong at %zu: %d\n",
          seed, world_rank, call->thread, call->turn, forms[call->form], call->name, call->count,
          call->member->size, at, out[at]);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void end(Call* call) {
  check(call);
  if (call->form == persistent) MPI_Request_free(&call->request);
  free(call->in);
  free(call->out);
  free(call->want);
  free(call->counts);
}

// One of the kinds of waiting and testing, until at least one of the calls is over; marks those that are.
static void complete_some(MPI_Request requests[], int count, unsigned kind, int is_over[]) {
  int index = MPI_UNDEFINED, flag = 0, done = 0, indices[most_open];
  MPI_Status statuses[most_open];
  const int one = (int)(kind >> 4) % count;
  switch (kind % 6) {
    case 0:
      MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
      is_over[one] = 1;
      return;
    case 1:
      while (!flag) MPI_Test(&requests[one], &flag, MPI_STATUS_IGNORE);
      is_over[one] = 1;
      return;
    case 2:
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      is_over[index] = 1;
      return;
    case 3:
      while (!flag) MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
      is_over[index] = 1;
      return;
    case 4:
      MPI_Waitsome(count, requests, &done, indices, statuses);
      break;
    default:
      while (done == 0) MPI_Testsome(count, requests, &done, indices, statuses);
  }
  for (int i = 0; i < done; ++i) is_over[indices[i]] = 1;
}

// All of them, in an order that is this rank's. (MPI_Testall of MPICH 5 fails where a persistent collective
// is among its requests.)
static void complete_all(Call calls[], int count, unsigned* own_random) {
  int left[most_open], open = 0;
  for (int i = 0; i < count; ++i) {
    if (calls[i].form != blocking) left[open++] = i;
  }
  while (open > 0) {
    MPI_Request requests[most_open];
    MPI_Status statuses[most_open];
    int is_over[most_open] = {0}, still_open = 0;
    for (int i = open - 1; i > 0; --i) {
      const int other = (int)(draw(own_random) % (unsigned)(i + 1)), last = left[i];
      left[i] = left[other];
      left[other] = last;
    }
    for (int i = 0; i < open; ++i) requests[i] = calls[left[i]].request;
    if (draw(own_random) % 7 == 0) {
      MPI_Waitall(open, requests, statuses);
      for (int i = 0; i < open; ++i) is_over[i] = 1;
    } else {
      complete_some(requests, open, draw(own_random), is_over);
    }
    for (int i = 0; i < open; ++i) {
      calls[left[i]].request = requests[i];
      if (!is_over[i]) left[still_open++] = left[i];
    }
    open = still_open;
  }
}

// Some calls on one communicator, of which those that do not block are under way together. Persistent ones
// run twice.
static void use(const Member* member, unsigned count, int thread, int turn, unsigned* random,
                unsigned* own_random) {
  Call calls[most_open];
  for (unsigned i = 0; i < count; ++i) {
    const unsigned form = draw(random) % (has_persistent ? 5 : 3), how = draw(random);
    begin(&calls[i], member,
          count == 1 || form == 0 ? blocking
          : form < 3              ? non_blocking
                                  : persistent,
          how, draw(random), thread, turn);
  }
  complete_all(calls, (int)count, own_random);
  Call again[most_open];
  int repeated = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (calls[i].form != persistent) {
      end(&calls[i]);
      continue;
    }
    check(&calls[i]);
    fill(&calls[i]);
    // A root's message is its output.
    if (strcmp(calls[i].name, "bcast") == 0 && member->rank == calls[i].root)
      memcpy(calls[i].out, calls[i].in, sizeof(int) * (size_t)calls[i].count);
    again[repeated++] = calls[i];
  }
  for (int i = 0; i < repeated; ++i) MPI_Start(&again[i].request);
  complete_all(again, repeated, own_random);
  for (int i = 0; i < repeated; ++i) end(&again[i]);
}

static void* run_thread(void* argument) {
  const int thread = (int)(intptr_t)argument;
  unsigned random = seed * 31u + (unsigned)thread, own_random = random + 7919u * (unsigned)world_rank;
  Member live[most_live];
  int count = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const unsigned what = draw(&random) % 8, which = draw(&random), how = draw(&random);
    if (count == 0 || (what == 0 && count < most_live)) {
      live[count++] = make(bases[thread], how);
    } else if (what == 1) {
      const int place = (int)(which % (unsigned)count);
      MPI_Comm_free(&live[place].comm);
      live[place] = live[--count];
    } else {
      // Half of the time a blocking one alone.
      const unsigned calls = how % 2 == 0 ? 1 : 2 + (how >> 2) % (most_open - 1);
      use(&live[which % (unsigned)count], calls, thread, turn, &random, &own_random);
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
  seed = argument_count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 1;
  if (world_rank == 0) {
    printf("SEED %u\n", seed);
    fflush(stdout);
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    if (world_rank == 0) printf("LEVEL %d\n", provided);
    MPI_Finalize();
    return 0;
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  // The persistent allgather of MPICH 4 and of Intel MPI, which is made of it, loses blocks by itself.
  has_persistent = has_persistent_collectives() && strstr(version, "Intel") == NULL &&
                   strstr(version, "MPICH Version:\t4") == NULL;
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
