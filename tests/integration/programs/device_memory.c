// SPDX-License-Identifier: BSD-3-Clause
// Collectives with buffers in the memory of a stand-in GPU (fake_gpu.c), on some ranks, which others know
// nothing of. The results are the same as with host memory, and gaps and inputs are as they were. The first
// word is the GPU's library, which is loaded after MPI_Init and some collectives. Behind it may stand:
// - early: it is loaded before these.
// - blocking: only calls of that form are made.
// - repeat: one kind of call is made again and again, so that there is something to learn.
// - native: it looks at what the MPI is said to take. The host's calls are counted, and made of no memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GPU_AWARE
// What some MPIs have under this name.
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) {
  return 1;
}
#endif

enum { most_ranks = 8, most_elements = 3000, ints_per_element = 4 };
enum {
  op_bcast,
  op_reduce,
  op_allreduce,
  op_gather,
  op_scatter,
  op_allgather,
  op_alltoall,
  op_reduce_scatter_block,
  op_scan,
  op_exscan,
  op_gatherv,
  op_scatterv,
  op_allgatherv,
  op_alltoallv,
  op_alltoallw,
  op_reduce_scatter,
  op_count
};
static const char* const op_names[op_count] = {"bcast",      "reduce",    "allreduce", "gather",
                                               "scatter",    "allgather", "alltoall",  "reduce_scatter_block",
                                               "scan",       "exscan",    "gatherv",   "scatterv",
                                               "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"};
enum { blocking, starting, persistent, form_count };

static void* (*allocate)(size_t, int);
static int (*read_device)(void*, const void*, size_t);
static int (*write_device)(void*, const void*, size_t);
static long (*copies)(void);
static int rank, size, failures;

static void load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  *(void**)&allocate = dlsym(library, "fake_allocate");
  *(void**)&read_device = dlsym(library, "fake_read");
  *(void**)&write_device = dlsym(library, "fake_write");
  *(void**)&copies = dlsym(library, "fake_copies");
}

static const size_t buffer_bytes = (size_t)most_ranks * most_elements * ints_per_element * sizeof(int);
// Of the host, the GPU, and managed; for input and output.
static char* memory[3][2];

static void put(int where, int side, const void* from) {
  if (where == 1) {
    write_device(memory[1][side], from, buffer_bytes);
  } else {
    memcpy(memory[where][side], from, buffer_bytes);
  }
}
static void get(int where, int side, void* into) {
  if (where == 1) {
    read_device(into, memory[1][side], buffer_bytes);
  } else {
    memcpy(into, memory[where][side], buffer_bytes);
  }
}

static MPI_Op of_program;
static void add_up(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

struct call {
  int op, form, n, root, is_in_place;
  MPI_Datatype type;
  MPI_Op sum;
};

static int counts[most_ranks], places[most_ranks], byte_places[most_ranks];
static int cross_counts[most_ranks];
static MPI_Datatype types[most_ranks];

#if MPI_VERSION >= 4
#define FORMS(Name, name, ...)                                \
  (c->form == blocking   ? MPI_##Name(__VA_ARGS__)            \
   : c->form == starting ? MPI_I##name(__VA_ARGS__, &request) \
                         : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request))
#else
#define FORMS(Name, name, ...) \
  (c->form == blocking ? MPI_##Name(__VA_ARGS__) : MPI_I##name(__VA_ARGS__, &request))
#endif

static void make(const struct call* c, void* in, void* out) {
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int n = c->n, is_root = rank == c->root;
  const void* sent = c->is_in_place ? MPI_IN_PLACE : in;
  const void* sent_root = c->is_in_place && is_root ? MPI_IN_PLACE : in;
  void* got_root = c->is_in_place && is_root ? MPI_IN_PLACE : out;
  switch (c->op) {
    case op_bcast:
      FORMS(Bcast, bcast, out, n, c->type, c->root, comm);
      break;
    case op_reduce:
      FORMS(Reduce, reduce, sent_root, out, n, c->type, c->sum, c->root, comm);
      break;
    case op_allreduce:
      FORMS(Allreduce, allreduce, sent, out, n, c->type, c->sum, comm);
      break;
    case op_gather:
      FORMS(Gather, gather, sent_root, n, c->type, out, n, c->type, c->root, comm);
      break;
    case op_scatter:
      FORMS(Scatter, scatter, in, n, c->type, got_root, n, c->type, c->root, comm);
      break;
    case op_allgather:
      FORMS(Allgather, allgather, sent, n, c->type, out, n, c->type, comm);
      break;
    case op_alltoall:
      FORMS(Alltoall, alltoall, sent, n, c->type, out, n, c->type, comm);
      break;
    case op_reduce_scatter_block:
      FORMS(Reduce_scatter_block, reduce_scatter_block, sent, out, n, c->type, c->sum, comm);
      break;
    case op_scan:
      FORMS(Scan, scan, sent, out, n, c->type, c->sum, comm);
      break;
    case op_exscan:
      FORMS(Exscan, exscan, sent, out, n, c->type, c->sum, comm);
      break;
    case op_gatherv:
      FORMS(Gatherv, gatherv, sent_root, counts[rank], c->type, out, counts, places, c->type, c->root, comm);
      break;
    case op_scatterv:
      FORMS(Scatterv, scatterv, in, counts, places, c->type, got_root, counts[rank], c->type, c->root, comm);
      break;
    case op_allgatherv:
      FORMS(Allgatherv, allgatherv, sent, counts[rank], c->type, out, counts, places, c->type, comm);
      break;
    case op_alltoallv:
      FORMS(Alltoallv, alltoallv, sent, cross_counts, places, c->type, out, cross_counts, places, c->type,
            comm);
      break;
    case op_alltoallw:
      FORMS(Alltoallw, alltoallw, sent, cross_counts, byte_places, types, out, cross_counts, byte_places,
            types, comm);
      break;
    default:
      FORMS(Reduce_scatter, reduce_scatter, sent, out, counts, c->type, c->sum, comm);
  }
  if (c->form == persistent) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else if (c->form == starting) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void prepare(const struct call* c) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(c->type, &lower, &extent);
  for (int i = 0; i < size; ++i) {
    counts[i] = c->n - i % 2;
    cross_counts[i] = c->n - (rank + i) % 2;
    places[i] = (size - 1 - i) * c->n;  // not in the order of the ranks
    byte_places[i] = places[i] * (int)extent;
    types[i] = c->type;
  }
}

static int *expected, *found, *input, *filled;

static void check(const struct call* c, int in_where, int out_where) {
  const int ints = (int)(buffer_bytes / sizeof(int));
  for (int i = 0; i < ints; ++i) {
    input[i] = rank * 1000 + i % 997;
    filled[i] = -i - rank;
  }
  prepare(c);
  put(0, 0, input);
  put(0, 1, filled);
  make(c, memory[0][0], memory[0][1]);
  get(0, 1, expected);
  put(in_where, 0, input);
  put(out_where, 1, filled);
  make(c, memory[in_where][0], memory[out_where][1]);
  get(out_where, 1, found);
  const int is_right = memcmp(found, expected, buffer_bytes) == 0;
  get(in_where, 0, found);
  if (is_right && memcmp(found, input, buffer_bytes) == 0) return;
  ++failures;
  printf("rank %d: %s form %d n %d in place %d, buffers at %d and %d: %s\n", rank, op_names[c->op], c->form,
         c->n, c->is_in_place, in_where, out_where, is_right ? "input changed" : "wrong");
}

static int has_in_place(int op) {
  return op != op_bcast;
}
static int is_reducing(int op) {
  return op == op_reduce || op == op_allreduce || op == op_reduce_scatter_block || op == op_scan ||
         op == op_exscan || op == op_reduce_scatter;
}

static void check_all(int elements, MPI_Datatype gappy, int forms) {
  int turn = 0;
  for (int op = 0; op < op_count; ++op) {
    for (int form = blocking; form < forms; ++form) {
      for (int variant = 0; variant < 3; ++variant) {  // plain, in place, of a type with gaps or an operator
        if (variant == 1 && !has_in_place(op)) continue;
        struct call c = {
            .op = op, .form = form, .n = elements, .root = turn % size, .is_in_place = variant == 1};
        const int is_special = variant == 2;
        c.type = is_special && !is_reducing(op) ? gappy : MPI_INT;
        c.sum = is_special && form == blocking ? of_program : MPI_SUM;
        // All ranks, some, and one; managed memory now and then.
        ++turn;
        const int in_where = turn % 3 == 0 ? 1 : (rank + turn) % 2;
        const int out_where = turn % 4 == 0 ? 1 : turn % 7 == 0 ? 2 : (rank / 2 + turn) % 2;
        check(&c, in_where, out_where);
      }
    }
  }
}

// Some ranks' buffers are of the GPU, others' of the host, in turns.
static void repeat(int calls, int elements) {
  for (int turn = 0; turn < calls; ++turn) {
    const int in_where = (rank + turn) % 2, out_where = (rank + turn / 2) % 2;
    const size_t bytes = (size_t)elements * sizeof(int);
    for (int i = 0; i < elements; ++i) input[i] = rank + turn + i, filled[i] = -1;
    char *in = memory[in_where][0], *out = memory[out_where][1];
    if (in_where == 1) write_device(in, input, bytes);
    if (in_where == 0) memcpy(in, input, bytes);
    if (out_where == 1) write_device(out, filled, bytes);
    MPI_Allreduce(in, out, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (out_where == 1) read_device(found, out, bytes);
    if (out_where == 0) memcpy(found, out, bytes);
    for (int i = 0; i < elements; ++i) failures += found[i] != size * (turn + i) + size * (size - 1) / 2;
  }
}

int main(int argc, char** argv) {
  const int is_early = argc > 2 && strcmp(argv[2], "early") == 0;
  const int is_native = argc > 2 && strcmp(argv[2], "native") == 0;
  if (is_early || is_native) load(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 200; ++i) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failures += sum != size * (size - 1) / 2;
  }
  if (allocate == NULL) load(argv[1]);
  if (is_native) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 10; ++i) MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  } else {
    MPI_Op_create(add_up, 1, &of_program);
    MPI_Datatype pairs, gappy;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_create_resized(pairs, 0, ints_per_element * (MPI_Aint)sizeof(int), &gappy);
    MPI_Type_commit(&gappy);
    for (int side = 0; side < 2; ++side) {
      memory[0][side] = malloc(buffer_bytes);
      memory[1][side] = allocate(buffer_bytes, 0);
      memory[2][side] = allocate(buffer_bytes, 1);
    }
    expected = malloc(buffer_bytes);
    found = malloc(buffer_bytes);
    input = malloc(buffer_bytes);
    filled = malloc(buffer_bytes);
    // The GPU's first buffer is that of a small call.
    struct call small = {.op = op_allreduce, .n = 1, .type = MPI_INT, .sum = MPI_SUM};
    check(&small, 1, 1);
    const int is_blocking = argc > 2 && strcmp(argv[2], "blocking") == 0;
    const int forms = is_blocking ? starting : MPI_VERSION >= 4 ? form_count : persistent;
    if (argc > 2 && strcmp(argv[2], "repeat") == 0) {
      repeat(4000, 4096);
    } else {
      check_all(7, gappy, forms);
      check_all(most_elements, gappy, forms);
    }
    if (copies() == 0) ++failures;
    MPI_Type_free(&gappy);
    MPI_Type_free(&pairs);
    MPI_Op_free(&of_program);
  }
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("RIGHT %d\n", size);
  MPI_Finalize();
  return failures != 0;
}
