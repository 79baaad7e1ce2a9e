// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives in all the ways that MPI allows. Each rank starts its requests in an order of its
// own, with other collectives anywhere between, and frees them when it likes. Types, arrays and communicators
// are gone by then. Every element is checked. Prints OK.
//
//   any_order SEED REQUESTS [multiple] [free]
//
// "multiple": with MPI_THREAD_MULTIPLE. "free": some communicators are freed before the last request on them
// starts. These are the ones on which all requests are made with MPI's own operators. Some MPIs do not
// survive that where they make the calls.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"
#include "seeded.inc"

enum { most_requests = 400, turns = 8, gap = 2, communicators = 3 };

static void expect_long(const char* what, long got, long expected) {
  if (got != expected) fail(what, 0, got, expected);
}

static const char* const names[] = {"barrier",        "bcast",      "reduce",
                                    "allreduce",      "gather",     "scatter",
                                    "allgather",      "alltoall",   "reduce_scatter_block",
                                    "scan",           "allgatherv", "gatherv",
                                    "scatterv",       "alltoallv",  "alltoallw",
                                    "reduce_scatter", "exscan"};
enum {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  allgatherv,
  gatherv,
  scatterv,
  alltoallv,
  alltoallw,
  reduce_scatter,
  exscan,
  operations
};

typedef struct {
  int operation, number, turn, count, root, members, me, is_spread;
  long *in, *out;
  MPI_Request request;
} Made;

static Made made[most_requests];
static int made_count, numbers;
static MPI_Op add_op;

static void add_longs(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint low, extent;
  MPI_Type_get_extent(*type, &low, &extent);
  const long step = extent / (MPI_Aint)sizeof(long);
  for (int i = 0; i < *count; ++i) ((long*)inout)[i * step] += ((long*)in)[i * step];
}

// Element i of the block that rank `from` sends to rank `to`; not every operation has as many blocks.
static long value(const Made* m, int from, int to, int i) {
  return m->number * 1000003L + m->turn * 7919L + from * 1009L + to * 31L + i % 97;
}
static int length(const Made* m, int from, int to) {
  switch (m->operation) {
    case allgatherv:
    case gatherv:
      return m->count + from % 3;
    case scatterv:
    case reduce_scatter:
      return m->count + to % 3;
    case alltoallv:
    case alltoallw:
      return m->count + (from + to) % 3;
    default:
      return m->count;
  }
}
static int is_uneven(int operation) {
  return operation >= allgatherv && operation <= alltoallw;
}
static int is_reduction(int operation) {
  return operation == reduce || operation == allreduce || operation == reduce_scatter_block ||
         operation == scan || operation == reduce_scatter || operation == exscan;
}
// Where block b begins: uneven ones lie the other way round, with gaps. Those of a reduction stand side by
// side.
static long place(const Made* m, int b, int is_output) {
  if (m->operation == reduce_scatter) {
    long at = 0;
    for (int to = 0; to < b && !is_output; ++to) at += length(m, 0, to);
    return at;
  }
  return is_uneven(m->operation) ? (long)(m->members - 1 - b) * (m->count + 3) : (long)b * m->count;
}
static long* element(const Made* m, long* buffer, long at) {
  return &buffer[m->is_spread ? gap * at : at];
}

static int sends(const Made* m, int from, int to) {
  switch (m->operation) {
    case bcast:
    case scatter:
    case scatterv:
      return from == m->root;
    case gather:
    case gatherv:
    case reduce:
      return to == m->root;
    case scan:
      return from <= to;
    case exscan:
      return from < to;
    default:
      return 1;
  }
}
// Has the input one block for all?
static int is_same_for_all(int operation) {
  return operation == bcast || operation == reduce || operation == allreduce || operation == gather ||
         operation == allgather || operation == scan || operation == exscan || operation == allgatherv ||
         operation == gatherv;
}

static void fill(Made* m) {
  const long elements = (long)m->members * (m->count + 3) * gap;
  memset(m->out, 0xff, (size_t)elements * sizeof(long));
  for (int b = 0; b < m->members; ++b) {
    const int to = is_same_for_all(m->operation) ? 0 : b;
    const long at = is_same_for_all(m->operation) ? 0 : place(m, b, 0);
    for (int i = 0; i < length(m, m->me, b); ++i) *element(m, m->in, at + i) = value(m, m->me, to, i);
  }
  if (m->operation == bcast && m->me == m->root)
    for (int i = 0; i < m->count; ++i) *element(m, m->out, i) = value(m, m->me, 0, i);
}

static void check(Made* m) {
  if (m->operation == barrier) return;
  for (int from = 0; from < m->members; ++from) {
    if (!sends(m, from, m->me)) continue;
    const int to = is_same_for_all(m->operation) ? 0 : m->me;
    const int has_blocks = m->operation == gather || m->operation == allgather || m->operation == alltoall ||
                           (is_uneven(m->operation) && m->operation != scatterv);
    for (int i = 0; i < length(m, from, m->me); ++i) {
      long expected = value(m, from, to, i);
      if (is_reduction(m->operation)) {
        expected = 0;
        for (int r = 0; r < m->members; ++r) expected += sends(m, r, m->me) ? value(m, r, to, i) : 0;
      }
      const long at = (has_blocks ? place(m, from, 1) : 0) + i;
      const long got = *element(m, m->out, at);
      if (got != expected) {
        fprintf(stderr, "request %d, turn %d, count %d, root %d, %d members, from %d\n", m->number, m->turn,
                m->count, m->root, m->members, from);
        fail(names[m->operation], at, got, expected);
      }
    }
  }
}

static void init(Made* m, MPI_Comm comm, int has_own_op) {
  int counts[2][64], places[2][64], bytes[2][64];
  MPI_Datatype type = MPI_LONG, types[64];
  const int n = m->count;
  void *in = m->in, *out = m->out;
  MPI_Request* request = &m->request;
  MPI_Info info = MPI_INFO_NULL;
  if (m->is_spread) {
    MPI_Type_create_resized(MPI_LONG, 0, gap * (MPI_Aint)sizeof(long), &type);
    MPI_Type_commit(&type);
  }
  const MPI_Op op = has_own_op || m->is_spread ? add_op : MPI_SUM;
  for (int b = 0; b < m->members; ++b) {
    counts[0][b] = length(m, m->me, b);
    counts[1][b] = length(m, b, m->me);
    for (int side = 0; side < 2; ++side) {
      places[side][b] = (int)place(m, b, side);
      bytes[side][b] = places[side][b] * (int)sizeof(long) * (m->is_spread ? gap : 1);
    }
    types[b] = type;
  }
  switch (m->operation) {
    case barrier:
      MPI_Barrier_init(comm, info, request);
      break;
    case bcast:
      MPI_Bcast_init(out, n, type, m->root, comm, info, request);
      break;
    case reduce:
      MPI_Reduce_init(in, out, n, type, op, m->root, comm, info, request);
      break;
    case allreduce:
      MPI_Allreduce_init(in, out, n, type, op, comm, info, request);
      break;
    case gather:
      MPI_Gather_init(in, n, type, out, n, type, m->root, comm, info, request);
      break;
    case scatter:
      MPI_Scatter_init(in, n, type, out, n, type, m->root, comm, info, request);
      break;
    case allgather:
      MPI_Allgather_init(in, n, type, out, n, type, comm, info, request);
      break;
    case alltoall:
      MPI_Alltoall_init(in, n, type, out, n, type, comm, info, request);
      break;
    case reduce_scatter_block:
      MPI_Reduce_scatter_block_init(in, out, n, type, op, comm, info, request);
      break;
    case scan:
      MPI_Scan_init(in, out, n, type, op, comm, info, request);
      break;
    case exscan:
      MPI_Exscan_init(in, out, n, type, op, comm, info, request);
      break;
    case allgatherv:
      MPI_Allgatherv_init(in, counts[0][0], type, out, counts[1], places[1], type, comm, info, request);
      break;
    case gatherv:
      MPI_Gatherv_init(in, counts[0][0], type, out, counts[1], places[1], type, m->root, comm, info, request);
      break;
    case scatterv:
      MPI_Scatterv_init(in, counts[0], places[0], type, out, counts[1][0], type, m->root, comm, info,
                        request);
      break;
    case alltoallv:
      MPI_Alltoallv_init(in, counts[0], places[0], type, out, counts[1], places[1], type, comm, info,
                         request);
      break;
    case alltoallw:
      MPI_Alltoallw_init(in, counts[0], bytes[0], types, out, counts[1], bytes[1], types, comm, info,
                         request);
      break;
    default:
      MPI_Reduce_scatter_init(in, out, counts[0], type, op, comm, info, request);
  }
  memset(counts, 0xff, sizeof counts);
  memset(places, 0xff, sizeof places);
  if (m->is_spread) MPI_Type_free(&type);
}

// The last communicator has the requests with operators of the program's own.
static void make(Made* m, int operation, MPI_Comm* comms) {
  m->is_spread = same(4) == 0;
  const int has_own_op = is_reduction(operation) && (m->is_spread || same(4) == 0);
  const MPI_Comm comm = comms[has_own_op ? communicators - 1 : (int)same(communicators - 1)];
  MPI_Comm_size(comm, &m->members);
  MPI_Comm_rank(comm, &m->me);
  m->operation = operation;
  m->number = numbers++;
  m->count = (int)(same(8) == 0 ? 1 + same(9000) : 1 + same(60));
  m->root = (int)same((unsigned)m->members);
  const size_t bytes = (size_t)m->members * (size_t)(m->count + 3) * gap * sizeof(long);
  m->in = malloc(bytes);
  m->out = malloc(bytes);
  init(m, comm, has_own_op);
}

static void end(Made* m) {
  MPI_Request_free(&m->request);
  free(m->in);
  free(m->out);
}

static void shuffle(int* order, int count) {
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count - 1; i > 0; --i) {
    const int other = (int)own((unsigned)i + 1), held = order[i];
    order[i] = order[other];
    order[other] = held;
  }
}

// The other collectives between the starts, in one order on all ranks, and each when this rank likes.
typedef struct {
  int done;
  long in[64], out[64];
  MPI_Request requests[64];
} Others;

static void make_other(Others* o, MPI_Comm comm) {
  const int i = o->done++;
  o->in[i] = rank + i;
  o->out[i] = rank == 0 ? i : -1;
  o->requests[i] = MPI_REQUEST_NULL;
  if (i % 4 == 0) MPI_Iallreduce(&o->in[i], &o->out[i], 1, MPI_LONG, MPI_SUM, comm, &o->requests[i]);
  if (i % 4 == 1) MPI_Allreduce(&o->in[i], &o->out[i], 1, MPI_LONG, MPI_SUM, comm);
  if (i % 4 == 2) MPI_Ibcast(&o->out[i], 1, MPI_LONG, 0, comm, &o->requests[i]);
  if (i % 4 == 3) MPI_Bcast(&o->out[i], 1, MPI_LONG, 0, comm);
}
static void end_others(Others* o) {
  static MPI_Status statuses[64];
  MPI_Waitall(o->done, o->requests, statuses);
  for (int i = 0; i < o->done; ++i)
    expect_long("a collective between", o->out[i],
                i % 4 < 2 ? (long)size * (size - 1) / 2 + (long)size * i : i);
}

static void start_all(const int* order, MPI_Comm between) {
  static Others others;
  others.done = 0;
  const int all_others = made_count < 16 ? made_count : 16;
  for (int i = 0; i < made_count;) {
    const int many = own(4) == 0 ? 1 + (int)own(4) : 1;
    MPI_Request some[5];
    int taken = 0;
    for (; taken < many && i < made_count; ++taken, ++i) some[taken] = made[order[i]].request;
    if (taken > 1) {
      MPI_Startall(taken, some);
    } else {
      MPI_Start(&some[0]);
    }
    while (others.done < all_others && own(3) == 0) make_other(&others, between);
  }
  while (others.done < all_others) make_other(&others, between);
  end_others(&others);
}

static void wait_all(const int* order) {
  static MPI_Request all[most_requests];
  static MPI_Status statuses[most_requests];
  if (own(3) == 0) {
    for (int i = 0; i < made_count; ++i) all[i] = made[order[i]].request;
    MPI_Waitall(made_count, all, statuses);
    return;
  }
  for (int i = 0; i < made_count; ++i) {
    int is_over = 0;
    MPI_Request* request = &made[order[i]].request;
    if (own(2) == 0) {
      MPI_Wait(request, MPI_STATUS_IGNORE);
    } else {
      while (!is_over) MPI_Test(request, &is_over, MPI_STATUS_IGNORE);
    }
  }
}

static void run_in_any_order(int requests, int is_freeing) {
  MPI_Comm comms[communicators], between;
  static int order[most_requests];
  static Made retired[turns * most_requests];
  int retired_count = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
  MPI_Comm_dup(MPI_COMM_WORLD, &between);
  made_count = requests;
  for (int i = 0; i < made_count; ++i) make(&made[i], i % operations, comms);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < made_count; ++i) {
      made[i].turn = turn;
      fill(&made[i]);
    }
    shuffle(order, made_count);
    start_all(order, between);
    shuffle(order, made_count);
    wait_all(order);
    for (int i = 0; i < made_count; ++i) check(&made[i]);
    // Some are replaced; each rank frees them now, or later.
    for (int i = 0; i < made_count && comms[0] != MPI_COMM_NULL; ++i) {
      if (same(6) != 0) continue;
      retired[retired_count++] = made[i];
      make(&made[i], (int)same(operations), comms);
    }
    while (retired_count > 0 && own(4) != 0) end(&retired[--retired_count]);
    if (is_freeing && turn == turns - 3) {
      MPI_Comm_free(&comms[0]);
      MPI_Comm_free(&comms[1]);
      MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comms[1]);  // the handle may come again
      MPI_Barrier(comms[1]);
    }
  }
  while (retired_count > 0) end(&retired[--retired_count]);
  for (int i = 0; i < made_count; ++i) end(&made[i]);
  made_count = 0;
  for (int i = 0; i < communicators; ++i) {
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  }
  MPI_Comm_free(&between);
}

// A request that is freed while it is active ends as others do.
static void free_active(void) {
  enum { calls = 20 };
  static long in[calls], out[calls];
  for (int i = 0; i < calls; ++i) {
    MPI_Request request;
    in[i] = rank;
    out[i] = -1;
    MPI_Allreduce_init(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Request_free(&request);
  }
  // Nothing tells when the result is there; before, there may be parts of it.
  for (int i = 0; i < calls; ++i) {
    volatile long* seen = &out[i];
    int flag;
    while (*seen != (long)size * (size - 1) / 2)
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  }
}

// Where all ranks say that they start in one order they share a place.
static void run_in_one_order(int is_freeing) {
  MPI_Info info;
  MPI_Comm comm;
  MPI_Info_create(&info);
  const char* key = "mpi_assert_strict_persistent_collective_ordering";
  if (strlen(key) < MPI_MAX_INFO_KEY) MPI_Info_set(info, key, "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  made_count = 2 * operations;
  MPI_Comm comms[communicators] = {comm, comm, MPI_COMM_WORLD};
  for (int i = 0; i < made_count; ++i) make(&made[i], i % operations, comms);
  if (is_freeing) MPI_Comm_free(&comm);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < made_count; ++i) {
      made[i].turn = turn;
      fill(&made[i]);
    }
    for (int i = 0; i < made_count; ++i) MPI_Start(&made[(i * 7 + turn) % made_count].request);
    for (int i = 0; i < made_count; ++i) MPI_Wait(&made[i].request, MPI_STATUS_IGNORE);
    for (int i = 0; i < made_count; ++i) check(&made[i]);
  }
  for (int i = 0; i < made_count; ++i) end(&made[i]);
  if (!is_freeing) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  const int requests = argc > 2 ? atoi(argv[2]) : 60;
  int provided, is_multiple = 0, is_freeing = 0;
  for (int i = 3; i < argc; ++i) {
    is_multiple = is_multiple || strcmp(argv[i], "multiple") == 0;
    is_freeing = is_freeing || strcmp(argv[i], "free") == 0;
  }
  MPI_Init_thread(&argc, &argv, is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!has_persistent_collectives()) fail("persistent collectives", 0, 0, 1);
  seed_numbers(seed);
  if (rank == 0) fprintf(stderr, "seed %u\n", seed);
  MPI_Op_create(add_longs, 1, &add_op);
  run_in_any_order(requests < most_requests ? requests : most_requests, is_freeing);
  run_in_one_order(is_freeing);
  free_active();
  MPI_Op_free(&add_op);
  MPI_Finalize();
  if (rank == 0) puts("OK");
  return 0;
}
