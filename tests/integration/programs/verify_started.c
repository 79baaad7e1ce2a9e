// SPDX-License-Identifier: BSD-3-Clause
// Every collective in a form that does not block, checked by the program. Calls are in place and not, with
// derived types that are freed at once, absolute addresses, uneven blocks and rounded sums. Prints "RIGHT"
// where all results are right. Each call is waited for before the next one.
//
//   verify_started started|persistent [faults: only the operations that tests spoil]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.inc"
#include "verify.inc"

enum { most = 6000, turns = 3 };

static int is_persistent, starts = 2;
static MPI_Request request;

// Starts a call, and waits for it; a persistent one `starts` times, after what `again` does.
#define CALL(Name, name, again, ...)                                           \
  do {                                                                         \
    if (is_persistent) {                                                       \
      MPI_##Name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request); \
      MPI_Start(&request);                                                     \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                   \
      if (starts == 2) {                                                       \
        again;                                                                 \
        MPI_Startall(1, &request);                                             \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                 \
      }                                                                        \
      MPI_Request_free(&request);                                              \
    } else {                                                                   \
      MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request);                      \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                   \
    }                                                                          \
  } while (0)

static void own_block(long* out, int at, int n) {
  memset(out, 0, sizeof(long) * (size_t)(n * size));
  fill(out + at, n);
}

static void blocks(long* data, int n) {
  for (int r = 0; r < size; ++r) fill(data + r * n, n);
}

static void spoiled_operations(long* in, long* out, int n) {
  for (int is_in_place = 0; is_in_place < 2; ++is_in_place) {
    void* input = is_in_place ? MPI_IN_PLACE : (void*)in;
    fill(in, n);
    fill(out, n);
    CALL(Allreduce, allreduce, fill(out, n), input, out, n, MPI_LONG, MPI_SUM);
    expect(is_sum(out, n, size, 0), "allreduce");
    fill(out, n);
    CALL(Scan, scan, fill(out, n), input, out, n, MPI_LONG, MPI_SUM);
    expect(is_sum(out, n, rank + 1, 0), "scan");
    own_block(out, rank * n, n);
    CALL(Allgather, allgather, own_block(out, rank * n, n), input, n, MPI_LONG, out, n, MPI_LONG);
    for (int r = 0; r < size; ++r) expect(is_vector(out + r * n, n, r), "allgather");
  }
  for (int root = 0; root < size; ++root) {
    fill(out, n);
    CALL(Bcast, bcast, fill(out, n), out, n, MPI_LONG, root);
    expect(is_vector(out, n, root), "bcast");
  }
}

static void reductions(long* in, long* out, int n, int is_in_place) {
  const int root = size - 1;
  void* input = is_in_place ? MPI_IN_PLACE : (void*)in;
  void* at_root = is_in_place && rank == root ? MPI_IN_PLACE : (void*)in;
  int* counts = malloc(sizeof(int) * (size_t)size);
  for (int r = 0; r < size; ++r) counts[r] = n;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  fill(in, n * size);
  fill(out, n * size);
  // Where the result does not go, the receive buffer means nothing.
  CALL(Reduce, reduce, fill(out, n), at_root, rank == root ? out : NULL, n, MPI_LONG, op, root);
  MPI_Op_free(&op);
  if (rank == root) expect(is_sum(out, n, size, 0), "reduce");
  fill(out, n * size);
  CALL(Reduce_scatter_block, reduce_scatter_block, fill(out, n * size), input, out, n, MPI_LONG, MPI_SUM);
  expect(is_sum(out, n, size, rank * n), "reduce_scatter_block");
  fill(out, n * size);
  CALL(Reduce_scatter, reduce_scatter, fill(out, n * size), input, out, counts, MPI_LONG, MPI_SUM);
  expect(is_sum(out, n, size, rank * n), "reduce_scatter");
  fill(out, n);
  CALL(Exscan, exscan, fill(out, n), input, out, n, MPI_LONG, MPI_SUM);
  if (rank > 0) expect(is_sum(out, n, rank, 0), "exscan");
  free(counts);
}

static void movements(long* in, long* out, int n, int is_in_place) {
  const int root = size - 1;
  void* input = is_in_place ? MPI_IN_PLACE : (void*)in;
  void* at_root = is_in_place && rank == root ? MPI_IN_PLACE : (void*)in;
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* places = malloc(sizeof(int) * (size_t)size);
  int* byte_places = malloc(sizeof(int) * (size_t)size);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  for (int r = 0; r < size; ++r) {
    counts[r] = n, places[r] = (size - 1 - r) * n, byte_places[r] = places[r] * (int)sizeof(long);
    types[r] = MPI_LONG;
  }
  MPI_Type_contiguous(1, MPI_LONG, &types[size - 1]);
  MPI_Type_commit(&types[size - 1]);
  fill(in, n * size);
  own_block(out, places[rank], n);
  CALL(Gatherv, gatherv, own_block(out, places[rank], n), at_root, n, MPI_LONG, out, counts, places, MPI_LONG,
       root);
  for (int r = 0; r < size && rank == root; ++r) expect(is_vector(out + places[r], n, r), "gatherv");
  own_block(out, rank * n, n);
  CALL(Gather, gather, own_block(out, rank * n, n), at_root, n, MPI_LONG, out, n, MPI_LONG, root);
  for (int r = 0; r < size && rank == root; ++r) expect(is_vector(out + r * n, n, r), "gather");
  own_block(out, places[rank], n);
  CALL(Allgatherv, allgatherv, own_block(out, places[rank], n), input, n, MPI_LONG, out, counts, places,
       MPI_LONG);
  for (int r = 0; r < size; ++r) expect(is_vector(out + places[r], n, r), "allgatherv");
  blocks(in, n);
  blocks(out, n);
  CALL(Alltoall, alltoall, blocks(out, n), input, n, MPI_LONG, out, n, MPI_LONG);
  for (int r = 0; r < size; ++r) expect(is_vector(out + r * n, n, r), "alltoall");
  blocks(out, n);
  CALL(Alltoallv, alltoallv, blocks(out, n), input, counts, places, MPI_LONG, out, counts, places, MPI_LONG);
  for (int r = 0; r < size; ++r) expect(is_vector(out + places[r], n, r), "alltoallv");
  blocks(out, n);
  CALL(Alltoallw, alltoallw, blocks(out, n), input, counts, byte_places, types, out, counts, byte_places,
       types);
  for (int r = 0; r < size; ++r) expect(is_vector(out + places[r], n, r), "alltoallw");
  blocks(in, n);
  void* part = is_in_place && rank == root ? MPI_IN_PLACE : (void*)out;
  memset(out, 0, sizeof(long) * (size_t)n);
  starts = 1;  // MPICH 4's and Intel MPI's own scatter fails when it is started again
  CALL(Scatter, scatter, , rank == root ? in : NULL, n, MPI_LONG, part, n, MPI_LONG, root);
  starts = 2;
  if (part != MPI_IN_PLACE) expect(is_vector(out, n, root), "scatter");
  memset(out, 0, sizeof(long) * (size_t)n);
  CALL(Scatterv, scatterv, , rank == root ? in : NULL, counts, places, MPI_LONG, part, n, MPI_LONG, root);
  if (part != MPI_IN_PLACE) expect(is_vector(out, n, root), "scatterv");
  MPI_Type_free(&types[size - 1]);
  free(counts), free(places), free(byte_places), free(types);
}

// Every other element, at its absolute address; the types are freed before the call has ended.
static void derived_types(long* out, int n) {
  const int root = size - 1;
  MPI_Datatype gaps, absolute;
  MPI_Aint address;
  MPI_Type_vector(n, 1, 2, MPI_LONG, &gaps);
  MPI_Get_address(out, &address);
  MPI_Type_create_hindexed(1, (int[]){1}, &address, gaps, &absolute);
  MPI_Type_commit(&absolute);
  for (int i = 0; i < 2 * n; ++i) out[i] = i % 2 == 0 ? value(rank, i / 2) : -1;
  MPI_Ibcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD, &request);
  MPI_Type_free(&absolute);
  MPI_Type_free(&gaps);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2 * n; ++i) expect(out[i] == (i % 2 == 0 ? value(root, i / 2) : -1), "bcast with gaps");
}

static int is_near(double one, double other) {
  const double difference = one - other;
  return difference < 1e-9 && difference > -1e-9;
}

static double sum_of_inverses(void) {
  double sum = 0;
  for (int r = 0; r < size; ++r) sum += 1.0 / (r + 1);
  return sum;
}

static void rounded(void) {
  double parts[3] = {1.0 / (rank + 1), 1.0 / (rank + 3), -0.1 * rank}, results[3], sum = 0, product = 1;
  struct {
    double value;
    int index;
  } place = {0.25 * ((rank * 3) % size), rank}, largest;
  for (int r = 0; r < size; ++r) sum += 1.0 / (r + 3), product *= 1.0 / (r + 1);
  CALL(Allreduce, allreduce, , parts, results, 3, MPI_DOUBLE, MPI_SUM);
  expect(is_near(results[1], sum), "sum");
  CALL(Allreduce, allreduce, , parts, results, 3, MPI_DOUBLE, MPI_PROD);
  expect(is_near(results[0], product), "product");
  CALL(Allreduce, allreduce, , parts, results, 3, MPI_DOUBLE, MPI_MAX);
  expect(results[0] == 1, "maximum");
  CALL(Allreduce, allreduce, , &place, &largest, 1, MPI_DOUBLE_INT, MPI_MAXLOC);
  expect(is_near(largest.value, 0.25 * ((largest.index * 3) % size)), "place of the maximum");
  CALL(Exscan, exscan, , parts, results, 3, MPI_DOUBLE, MPI_SUM);
  if (rank == 1) expect(results[0] == 1, "exclusive sum");
  CALL(Reduce, reduce, , parts, rank == size - 1 ? results : NULL, 3, MPI_DOUBLE, MPI_SUM, size - 1);
  if (rank == size - 1) expect(is_near(results[1], sum), "sum at the root");
  double* all = malloc(sizeof(double) * (size_t)(2 * size));
  int* counts = malloc(sizeof(int) * (size_t)size);
  for (int r = 0; r < size; ++r) counts[r] = 1, all[2 * r] = parts[1], all[2 * r + 1] = parts[0];
  counts[0] = 2;
  CALL(Reduce_scatter, reduce_scatter, , all, results, counts, MPI_DOUBLE, MPI_SUM);
  // A rank's part begins one element behind its number, but the first one's.
  const int is_second = rank > 0 && rank % 2 == 0;
  expect(is_near(results[0], is_second ? sum_of_inverses() : sum), "uneven parts of sums");
  CALL(Reduce_scatter_block, reduce_scatter_block, , all, results, 2, MPI_DOUBLE, MPI_SUM);
  expect(is_near(results[0], sum), "blocks of sums");
  free(all), free(counts);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  is_persistent = argc > 1 && strcmp(argv[1], "persistent") == 0 && has_persistent_collectives();
  const int has_faults = argc > 2 && strcmp(argv[2], "faults") == 0;
  const int counts[] = {2, 100, most};
  long* in = malloc(sizeof(long) * (size_t)(2 * most * size));
  long* out = malloc(sizeof(long) * (size_t)(2 * most * size));
  for (int turn = 0; turn < turns; ++turn) {
    for (int c = 0; c < 3; ++c) {
      spoiled_operations(in, out, counts[c]);
      for (int is_in_place = 0; is_in_place < 2 && !has_faults; ++is_in_place) {
        reductions(in, out, counts[c], is_in_place);
        movements(in, out, counts[c], is_in_place);
      }
      if (!has_faults) derived_types(out, counts[c]), rounded();
    }
  }
  free(in);
  free(out);
  say_result();
  MPI_Finalize();
  return 0;
}
