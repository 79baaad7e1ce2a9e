// SPDX-License-Identifier: BSD-3-Clause
// Collectives with buffers in the memory of a GPU, or of a stand-in (gpu_memory.inc), on some ranks, which
// others know nothing of. The results are those of the MPI's own functions with host memory, and gaps and
// inputs are as they were. The first word is the GPU's library, which is loaded after MPI_Init and some
// collectives. Behind it may stand:
// - early: it is loaded before these.
// - used: memory of the GPU is allocated then, too.
// - blocking: only calls of that form are made.
// - even: no type has gaps.
// - everywhere: all buffers are the GPU's.
// - one: one rank's buffers are.
// - repeat: one kind of call is made again and again, so that there is something to learn.
// - native: it looks at what the MPI is said to take. The host's calls are counted, and made of no memory.
// - a number: calls of so many bytes are made, beside the sizes that are always there.
#define _GNU_SOURCE
#include <mpi.h>

#include "gpu_memory.inc"

#ifdef GPU_AWARE
// What some MPIs have under this name.
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) {
  return 1;
}
#endif

enum { most_ranks = 8, most_neighbors = 3, most_sizes = 8, most_gappy = 32, ints_per_element = 4 };
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
  op_neighbor_allgather,
  op_neighbor_allgatherv,
  op_neighbor_alltoall,
  op_neighbor_alltoallv,
  op_neighbor_alltoallw,
  op_count
};
static const char* const op_names[op_count] = {"bcast",
                                               "reduce",
                                               "allreduce",
                                               "gather",
                                               "scatter",
                                               "allgather",
                                               "alltoall",
                                               "reduce_scatter_block",
                                               "scan",
                                               "exscan",
                                               "gatherv",
                                               "scatterv",
                                               "allgatherv",
                                               "alltoallv",
                                               "alltoallw",
                                               "reduce_scatter",
                                               "neighbor_allgather",
                                               "neighbor_allgatherv",
                                               "neighbor_alltoall",
                                               "neighbor_alltoallv",
                                               "neighbor_alltoallw"};
// By the MPI's own function: PMPI_ is nobody's but the MPI's.
enum { blocking, starting, persistent, form_count, natively };

static int rank, size, failures;
static size_t buffer_bytes;
// Of each kind, for input and output.
static char* memory[kind_count][2];
// Kinds that there are beside the host's and the GPU's.
static int more_kinds[kind_count], more_kind_count;
static enum { mixed, everywhere, one } placing;
static int is_even;

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

// To and from itself and two others, fewer where these are the same.
static MPI_Comm graph;
static int neighbor_count, sources[most_neighbors], targets[most_neighbors];
static int in_counts[most_neighbors], out_counts[most_neighbors];
static MPI_Aint wide_places[most_neighbors];

static void make_graph(void) {
  const int steps[most_neighbors] = {0, 1, 3};
  for (int i = 0; i < most_neighbors; ++i) {
    int is_known = 0;
    for (int j = 0; j < i; ++j) is_known |= steps[j] % size == steps[i] % size;
    if (is_known) continue;
    sources[neighbor_count] = (rank + size * most_neighbors - steps[i]) % size;
    targets[neighbor_count++] = (rank + steps[i]) % size;
  }
  const int weights[most_neighbors] = {1, 1, 1};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbor_count, sources, weights, neighbor_count, targets,
                                 weights, MPI_INFO_NULL, 0, &graph);
}

#if MPI_VERSION >= 4
#define PERSISTENT(Name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define PERSISTENT(Name, ...) MPI_Abort(MPI_COMM_WORLD, 7)
#endif
#define FORMS(Name, name, ...)                                \
  (c->form == natively   ? PMPI_##Name(__VA_ARGS__)           \
   : c->form == blocking ? MPI_##Name(__VA_ARGS__)            \
   : c->form == starting ? MPI_I##name(__VA_ARGS__, &request) \
                         : PERSISTENT(Name, __VA_ARGS__))

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
    case op_reduce_scatter:
      FORMS(Reduce_scatter, reduce_scatter, sent, out, counts, c->type, c->sum, comm);
      break;
    case op_neighbor_allgather:
      FORMS(Neighbor_allgather, neighbor_allgather, in, n, c->type, out, n, c->type, graph);
      break;
    case op_neighbor_allgatherv:
      FORMS(Neighbor_allgatherv, neighbor_allgatherv, in, counts[rank], c->type, out, out_counts, places,
            c->type, graph);
      break;
    case op_neighbor_alltoall:
      FORMS(Neighbor_alltoall, neighbor_alltoall, in, n, c->type, out, n, c->type, graph);
      break;
    case op_neighbor_alltoallv:
      FORMS(Neighbor_alltoallv, neighbor_alltoallv, in, in_counts, places, c->type, out, out_counts, places,
            c->type, graph);
      break;
    default:
      FORMS(Neighbor_alltoallw, neighbor_alltoallw, in, in_counts, wide_places, types, out, out_counts,
            wide_places, types, graph);
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
  const int is_allgather = c->op == op_neighbor_allgatherv;
  for (int i = 0; i < neighbor_count; ++i) {
    in_counts[i] = is_allgather ? counts[rank] : c->n - (rank + targets[i]) % 2;
    out_counts[i] = is_allgather ? counts[sources[i]] : c->n - (rank + sources[i]) % 2;
    wide_places[i] = byte_places[i];
  }
}

static int *expected, *found, *input, *filled;

// Whole numbers that all reductions give exactly.
static int value_of(int side, size_t i) {
  return side == 0 ? rank * 1000 + (int)(i % 997) : -(int)(i % 9973) - rank;
}
static void fill(int* buffer, int side, MPI_Datatype type) {
  if (type == MPI_DOUBLE) {
    for (size_t i = 0; i < buffer_bytes / sizeof(double); ++i) ((double*)buffer)[i] = value_of(side, i);
  } else if (type == MPI_FLOAT) {
    for (size_t i = 0; i < buffer_bytes / sizeof(float); ++i) ((float*)buffer)[i] = (float)value_of(side, i);
  } else {
    for (size_t i = 0; i < buffer_bytes / sizeof(int); ++i) buffer[i] = value_of(side, i);
  }
}

static void check(const struct call* c, int in_kind, int out_kind) {
  fill(input, 0, c->type);
  fill(filled, 1, c->type);
  prepare(c);
  struct call host_call = *c;
  host_call.form = natively;
  // All blocks are of one type here, and MPICH 4 gives other data now and then.
  if (c->op == op_neighbor_alltoallw) host_call.op = op_neighbor_alltoallv;
  memcpy(memory[of_host][0], input, buffer_bytes);
  memcpy(expected, filled, buffer_bytes);
  make(&host_call, memory[of_host][0], expected);
  put(memory[in_kind][0], in_kind, input, buffer_bytes);
  put(memory[out_kind][1], out_kind, filled, buffer_bytes);
  make(c, memory[in_kind][0], memory[out_kind][1]);
  get(memory[out_kind][1], out_kind, found, buffer_bytes);
  const int is_right = memcmp(found, expected, buffer_bytes) == 0;
  get(memory[in_kind][0], in_kind, found, buffer_bytes);
  if (is_right && memcmp(found, input, buffer_bytes) == 0) return;
  ++failures;
  printf("rank %d: %s form %d n %d in place %d, buffers of kinds %d and %d: %s\n", rank, op_names[c->op],
         c->form, c->n, c->is_in_place, in_kind, out_kind, is_right ? "input changed" : "wrong");
}

static int has_in_place(int op) {
  return op != op_bcast && op < op_neighbor_allgather;
}
static int has_blocks(int op) {
  return op != op_bcast && op != op_reduce && op != op_allreduce && op != op_scan && op != op_exscan;
}
static int is_reducing(int op) {
  return op == op_reduce || op == op_allreduce || op == op_reduce_scatter_block || op == op_scan ||
         op == op_exscan || op == op_reduce_scatter;
}

// Where the buffers of a call are: the GPU's on all ranks, some, and one; now and then of another kind.
static void place(int turn, int* in_kind, int* out_kind) {
  if (placing == everywhere) {
    *in_kind = *out_kind = of_gpu;
  } else if (placing == one) {
    *in_kind = *out_kind = rank == turn % size ? of_gpu : of_host;
  } else {
    const int more = more_kind_count == 0 ? of_gpu : more_kinds[(rank + turn / 5) % more_kind_count];
    *in_kind = turn % 3 == 0 ? of_gpu : turn % 5 == 0 ? more : (rank + turn) % 2;
    *out_kind = turn % 4 == 0 ? of_gpu : turn % 7 < 2 ? more : (rank / 2 + turn) % 2;
  }
}

static void check_all(size_t bytes, MPI_Datatype gappy, int forms) {
  const MPI_Datatype plain[] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE};
  const size_t plain_bytes[] = {sizeof(int), sizeof(float), sizeof(double)};
  int turn = 0;
  for (int op = 0; op < op_count; ++op) {
    for (int form = blocking; form < forms; ++form) {
      for (int variant = 0; variant < 3; ++variant) {  // plain, in place, of a type with gaps or an operator
        if (variant == 1 && !has_in_place(op)) continue;
        struct call c = {.op = op, .form = form, .root = turn % size, .is_in_place = variant == 1};
        const int is_special = variant == 2, type = is_special ? 0 : turn % 3;
        const int is_gappy = is_special && !is_reducing(op) && !is_even;
        c.type = is_gappy ? gappy : plain[type];
        c.sum = is_special && form == blocking ? of_program : MPI_SUM;
        const size_t element_bytes = is_gappy ? ints_per_element * sizeof(int) : plain_bytes[type];
        int n = (int)(bytes / element_bytes / (has_blocks(op) ? (size_t)size : 1));
        // Each run of bytes without a gap is a copy, which takes its time on a GPU that ranks share.
        if (is_gappy && copies == NULL && n > most_gappy) n = most_gappy;
        c.n = n == 0 ? 1 : n;
        int in_kind, out_kind;
        place(++turn, &in_kind, &out_kind);
        check(&c, in_kind, out_kind);
      }
    }
  }
}

// Some ranks' buffers are of the GPU, others' of the host, in turns.
static void repeat(int calls, int elements) {
  for (int turn = 0; turn < calls; ++turn) {
    const int in_kind = (rank + turn) % 2, out_kind = (rank + turn / 2) % 2;
    const size_t bytes = (size_t)elements * sizeof(int);
    for (int i = 0; i < elements; ++i) input[i] = rank + turn + i, filled[i] = -1;
    char *in = memory[in_kind][0], *out = memory[out_kind][1];
    put(in, in_kind, input, bytes);
    if (out_kind == of_gpu) put(out, out_kind, filled, bytes);
    MPI_Allreduce(in, out, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    get(out, out_kind, found, bytes);
    for (int i = 0; i < elements; ++i) failures += found[i] != size * (turn + i) + size * (size - 1) / 2;
  }
}

static void allocate_all(void) {
  for (int kind = of_host; kind < kind_count; ++kind) {
    int is_there = 1, is_everywhere = 0;
    for (int side = 0; side < 2; ++side) {
      memory[kind][side] = allocate_of(kind, buffer_bytes);
      is_there &= memory[kind][side] != NULL;
    }
    PMPI_Allreduce(&is_there, &is_everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (kind > of_gpu && is_everywhere) more_kinds[more_kind_count++] = kind;
    if (kind == of_gpu && !is_everywhere) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  expected = malloc(buffer_bytes);
  found = malloc(buffer_bytes);
  input = malloc(buffer_bytes);
  filled = malloc(buffer_bytes);
}

static void check_memory(int is_repeating, int forms, const size_t* sizes, int size_count) {
  const size_t least_bytes = most_ranks * ints_per_element * sizeof(int);
  MPI_Datatype pairs, gappy;
  MPI_Op_create(add_up, 1, &of_program);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_create_resized(pairs, 0, ints_per_element * (MPI_Aint)sizeof(int), &gappy);
  MPI_Type_commit(&gappy);
  for (int i = 0; i < size_count; ++i) buffer_bytes = sizes[i] > buffer_bytes ? sizes[i] : buffer_bytes;
  buffer_bytes += least_bytes;
  allocate_all();
  make_graph();
  // The GPU's first buffer is that of a small call.
  struct call small = {.op = op_allreduce, .n = 1, .type = MPI_INT, .sum = MPI_SUM};
  check(&small, of_gpu, of_gpu);
  if (is_repeating) {
    repeat(4000, 4096);
  } else {
    for (int i = 0; i < size_count; ++i) check_all(sizes[i], gappy, forms);
  }
  if (copies != NULL && copies() == 0) ++failures;
  MPI_Comm_free(&graph);
  MPI_Type_free(&gappy);
  MPI_Type_free(&pairs);
  MPI_Op_free(&of_program);
}

int main(int argc, char** argv) {
  int is_early = 0, is_used = 0, is_native = 0, is_repeating = 0, size_count = 3;
  int forms = MPI_VERSION >= 4 ? form_count : persistent;
  size_t sizes[most_sizes] = {8, 84, 48000};
  for (int i = 2; i < argc; ++i) {
    is_early |= strcmp(argv[i], "early") == 0;
    is_used |= strcmp(argv[i], "used") == 0;
    is_native |= strcmp(argv[i], "native") == 0;
    is_even |= strcmp(argv[i], "even") == 0;
    is_repeating |= strcmp(argv[i], "repeat") == 0;
    if (strcmp(argv[i], "blocking") == 0) forms = starting;
    if (strcmp(argv[i], "everywhere") == 0) placing = everywhere;
    if (strcmp(argv[i], "one") == 0) placing = one;
    if (atol(argv[i]) > 0 && size_count < most_sizes) sizes[size_count++] = (size_t)atol(argv[i]);
  }
  if (is_early || is_native || is_used) load_gpu(argv[1]);
  if (is_used && allocate(1, of_gpu) == NULL) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 200; ++i) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failures += sum != size * (size - 1) / 2;
  }
  if (allocate == NULL) load_gpu(argv[1]);
  if (is_native) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 10; ++i) MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  } else {
    check_memory(is_repeating, forms, sizes, size_count);
  }
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("RIGHT %d\n", size);
  MPI_Finalize();
  return failures != 0;
}
