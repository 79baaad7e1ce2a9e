// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives of neighbours, on grids and on graphs, against the blocking ones. Each request is
// started several times with other data, while its derived types and arrays were freed or spoilt before.
// Requests are completed together with a persistent collective of all ranks, in every way that MPI has.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"

// An element is two ints with a gap between them; a block, at most four elements.
enum { most_neighbors = 24, most_elements = 4, element_ints = 3, block_ints = most_elements * element_ints };
enum { most_ints = most_neighbors * block_ints, turns = 7 };
enum { allgather, allgatherv, alltoall, alltoallv, alltoallw, operations, all_ranks = operations, requests };

static const char* const names[] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
static int rank, size;
static int sources[most_neighbors], targets[most_neighbors], source_count, target_count;

static void fail(const char* what, int detail, int turn) {
  printf("rank %d of %d: %s, %d, turn %d\n", rank, size, what, detail, turn);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Datatype make_element(void) {
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// The arguments of all calls; what a rank sends another depends on the two alone.
typedef struct Arguments {
  int in_counts[most_neighbors], in_places[most_neighbors];
  int out_counts[most_neighbors], out_places[most_neighbors], part_counts[most_neighbors];
  MPI_Aint in_bytes[most_neighbors], out_bytes[most_neighbors];
  MPI_Datatype in_types[most_neighbors], out_types[most_neighbors], type;
} Arguments;

static void make(Arguments* a) {
  memset(a, 0, sizeof *a);
  a->type = make_element();
  for (int i = 0; i < target_count; ++i) {
    a->in_counts[i] = targets[i] < 0 ? 0 : (rank + 2 * targets[i]) % (most_elements + 1);
    a->in_places[i] = i * most_elements;
    a->in_bytes[i] = (MPI_Aint)sizeof(int) * i * block_ints;
    a->in_types[i] = i % 2 == 0 ? make_element() : a->type;
  }
  for (int i = 0; i < source_count; ++i) {
    a->out_counts[i] = sources[i] < 0 ? 0 : (sources[i] + 2 * rank) % (most_elements + 1);
    a->part_counts[i] = sources[i] < 0 ? 0 : 1 + sources[i] % most_elements;
    // Backwards, so that places matter.
    a->out_places[i] = (source_count - 1 - i) * most_elements;
    a->out_bytes[i] = (MPI_Aint)sizeof(int) * a->out_places[i] * element_ints;
    a->out_types[i] = i % 2 == 0 ? a->type : make_element();
  }
}

// Frees all types and spoils the rest.
static void spoil(Arguments* a) {
  for (int i = 0; i < target_count; i += 2) MPI_Type_free(&a->in_types[i]);
  for (int i = 1; i < source_count; i += 2) MPI_Type_free(&a->out_types[i]);
  MPI_Type_free(&a->type);
  memset(a, 0xFF, sizeof *a);
}

static void make_requests(Arguments* a, int in[][most_ints], int out[][most_ints], MPI_Comm comm,
                          MPI_Request made[]) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Neighbor_allgather_init(in[0], most_elements, a->type, out[0], most_elements, a->type, comm, info,
                              &made[allgather]);
  MPI_Neighbor_allgatherv_init(in[1], 1 + rank % most_elements, a->type, out[1], a->part_counts,
                               a->out_places, a->type, comm, info, &made[allgatherv]);
  MPI_Neighbor_alltoall_init(in[2], most_elements, a->type, out[2], most_elements, a->type, comm, info,
                             &made[alltoall]);
  MPI_Info_free(&info);
  MPI_Neighbor_alltoallv_init(in[3], a->in_counts, a->in_places, a->type, out[3], a->out_counts,
                              a->out_places, a->type, comm, MPI_INFO_NULL, &made[alltoallv]);
  MPI_Neighbor_alltoallw_init(in[4], a->in_counts, a->in_bytes, a->in_types, out[4], a->out_counts,
                              a->out_bytes, a->out_types, comm, MPI_INFO_NULL, &made[alltoallw]);
}

static void call(const Arguments* a, int in[][most_ints], int out[][most_ints], MPI_Comm comm) {
  MPI_Neighbor_allgather(in[0], most_elements, a->type, out[0], most_elements, a->type, comm);
  MPI_Neighbor_allgatherv(in[1], 1 + rank % most_elements, a->type, out[1], a->part_counts, a->out_places,
                          a->type, comm);
  MPI_Neighbor_alltoall(in[2], most_elements, a->type, out[2], most_elements, a->type, comm);
  MPI_Neighbor_alltoallv(in[3], a->in_counts, a->in_places, a->type, out[3], a->out_counts, a->out_places,
                         a->type, comm);
  MPI_Neighbor_alltoallw(in[4], a->in_counts, a->in_bytes, a->in_types, out[4], a->out_counts, a->out_bytes,
                         a->out_types, comm);
}

static void start(MPI_Request made[], int turn) {
  if (turn % 2 == 0) {
    MPI_Startall(requests, made);
  } else {
    for (int i = 0; i < requests; ++i) MPI_Start(&made[i]);
  }
}

// Leaves in `active` the requests that are none of `done`.
static int remove_done(MPI_Request active[], int count, const int done[], int done_count, int turn) {
  int left = 0;
  if (done_count == MPI_UNDEFINED) fail("no request is active", count, turn);
  for (int i = 0; i < count; ++i) {
    int is_done = 0;
    for (int j = 0; j < done_count; ++j) is_done |= done[j] == i;
    if (!is_done) active[left++] = active[i];
  }
  return left;
}

static void complete(MPI_Request made[], int turn) {
  MPI_Status statuses[requests];
  MPI_Request active[requests];
  int flag = 0, index, count = 0, some[requests], left = requests;
  memcpy(active, made, sizeof active);
  switch (turn % 7) {
    case 0:
      MPI_Waitall(requests, made, statuses);
      return;
    case 1:
      for (int i = requests - 1; i >= 0; --i) MPI_Wait(&made[i], MPI_STATUS_IGNORE);
      return;
    case 2:
      for (int i = 0; i < requests; ++i) {
        for (flag = 0; !flag;) MPI_Test(&made[i], &flag, MPI_STATUS_IGNORE);
      }
      return;
    case 3:
      while (left > 0) {
        MPI_Waitany(left, active, &index, MPI_STATUS_IGNORE);
        left = remove_done(active, left, &index, 1, turn);
      }
      return;
    case 4:
      while (left > 0) {
        MPI_Waitsome(left, active, &count, some, statuses);
        left = remove_done(active, left, some, count, turn);
      }
      return;
    case 5:
      for (int i = 0; i < requests; ++i) {
        for (flag = 0; !flag;) MPI_Request_get_status(made[i], &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&made[i], MPI_STATUS_IGNORE);
      }
      return;
    default:
      while (left > 0) {
        MPI_Testsome(left, active, &count, some, statuses);
        left = remove_done(active, left, some, count, turn);
      }
  }
}

static void check(MPI_Comm comm) {
  static int in[operations][most_ints], out[operations][most_ints], expected[operations][most_ints];
  MPI_Request made[requests];
  Arguments given, kept;
  long mine = 0, sum = 0;
  make(&given);
  make(&kept);
  make_requests(&given, in, out, comm, made);
  MPI_Allreduce_init(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &made[all_ranks]);
  spoil(&given);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < operations; ++i) {
      for (int j = 0; j < most_ints; ++j) in[i][j] = ((turn * 64 + rank) * 8 + i) * most_ints + j;
    }
    memset(out, 0xFF, sizeof out);
    memset(expected, 0xFF, sizeof expected);
    mine = rank + turn;
    start(made, turn);
    complete(made, turn);
    call(&kept, in, expected, comm);
    for (int i = 0; i < operations; ++i) {
      if (memcmp(out[i], expected[i], sizeof out[i]) != 0) fail(names[i], source_count, turn);
    }
    if (sum != (long)size * (size - 1) / 2 + (long)turn * size) fail("allreduce", (int)sum, turn);
  }
  for (int i = 0; i < requests; ++i) {
    MPI_Request_free(&made[i]);
    if (made[i] != MPI_REQUEST_NULL) fail("a freed request stayed", i, 0);
  }
  spoil(&kept);
}

// Periodic where all neighbours are different ones. (Of one that is a neighbour twice Open MPI 4's blocking
// and non-blocking calls differ in which block comes first.)
static void check_grid(int dimensions) {
  int lengths[3] = {0}, periods[3];
  MPI_Comm grid;
  MPI_Dims_create(size, dimensions, lengths);
  for (int i = 0; i < dimensions; ++i) periods[i] = lengths[i] > 2;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths, periods, 0, &grid);
  source_count = target_count = 2 * dimensions;
  for (int i = 0; i < dimensions; ++i) MPI_Cart_shift(grid, i, 1, &sources[2 * i], &sources[2 * i + 1]);
  memcpy(targets, sources, sizeof targets);
  check(grid);
  MPI_Comm_free(&grid);
}

static int has_edge(int from, int to) {
  return (3 * from + to) % 2 == 0 || to == (from + 1) % size;
}

static void check_distributed_graph(void) {
  source_count = target_count = 0;
  for (int other = 0; other < size; ++other) {
    if (has_edge(other, rank)) sources[source_count++] = other;
    if (has_edge(rank, other)) targets[target_count++] = other;
  }
  int weights[most_neighbors] = {0};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, source_count, sources, weights, target_count, targets,
                                 weights, MPI_INFO_NULL, 0, &graph);
  check(graph);
  MPI_Comm_free(&graph);
}

// Rank 0 is everybody's neighbour.
static void check_graph(void) {
  int ends[most_neighbors], edges[2 * most_neighbors] = {0}, edge_count = 0;
  for (int i = 0; i < size; ++i) {
    if (i == 0) {
      for (int other = 1; other < size; ++other) edges[edge_count++] = other;
    } else {
      edges[edge_count++] = 0;
    }
    ends[i] = edge_count;
  }
  MPI_Comm graph;
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &graph);
  MPI_Graph_neighbors_count(graph, rank, &source_count);
  MPI_Graph_neighbors(graph, rank, source_count, sources);
  target_count = source_count;
  memcpy(targets, sources, sizeof targets);
  check(graph);
  MPI_Comm_free(&graph);
}

// What breaks MPI's rules is told when the request is made.
static void check_errors(void) {
  MPI_Comm flat;
  MPI_Comm_dup(MPI_COMM_WORLD, &flat);
  MPI_Comm_set_errhandler(flat, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // Open MPI 5 asks this one's
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      MPI_Neighbor_alltoall_init(&flat, 0, MPI_INT, &request, 0, MPI_INT, flat, MPI_INFO_NULL, &request);
  if (error == MPI_SUCCESS) fail("no error without a topology", error, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&flat);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_there = has_persistent_collectives();
  if (is_there) {
    for (int dimensions = 1; dimensions <= 3; ++dimensions) check_grid(dimensions);
    check_graph();
    check_distributed_graph();
    check_errors();
  }
  if (rank == 0) printf(is_there ? "OK\n" : "NONE\n"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
