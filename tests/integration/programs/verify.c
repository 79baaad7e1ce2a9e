// SPDX-License-Identifier: BSD-3-Clause
// Calls of every collective, checked by the program. They are small and large, in place and not, with derived
// types, absolute addresses and roots whose other arguments mean nothing. Prints "RIGHT" where all results
// are right. With "faults" it calls only the operations that tests spoil.
#include "verify.inc"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spoiled_operations(long* in, long* out, int n) {
  for (int is_in_place = 0; is_in_place < 2; ++is_in_place) {
    void* input = is_in_place ? MPI_IN_PLACE : (void*)in;
    fill(in, n);
    fill(out, n);
    MPI_Allreduce(input, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    expect(is_sum(out, n, size, 0), "allreduce");
    fill(out, n);
    MPI_Scan(input, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    expect(is_sum(out, n, rank + 1, 0), "scan");
    memset(out, 0, sizeof(long) * (size_t)(n * size));
    fill(out + rank * n, n);
    MPI_Allgather(input, n, MPI_LONG, out, n, MPI_LONG, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(is_vector(out + r * n, n, r), "allgather");
  }
  for (int root = 0; root < size; ++root) {
    fill(out, n);
    MPI_Bcast(out, n, MPI_LONG, root, MPI_COMM_WORLD);
    expect(is_vector(out, n, root), "bcast");
  }
}

static void other_operations(long* in, long* out, int n) {
  const int root = size - 1;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int is_in_place = 0; is_in_place < 2; ++is_in_place) {
    void* at_root = is_in_place && rank == root ? MPI_IN_PLACE : (void*)in;
    fill(in, n * size);
    fill(out, n * size);
    // Where the result does not go, the receive buffer means nothing.
    MPI_Reduce(at_root, rank == root ? out : NULL, n, MPI_LONG, op, root, MPI_COMM_WORLD);
    if (rank == root) expect(is_sum(out, n, size, 0), "reduce");
    fill(out, n * size);
    MPI_Reduce_scatter_block(is_in_place ? MPI_IN_PLACE : in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    expect(is_sum(out, n, size, rank * n), "reduce_scatter_block");
    int* counts = malloc(sizeof(int) * (size_t)size);
    int* places = malloc(sizeof(int) * (size_t)size);
    for (int r = 0; r < size; ++r) counts[r] = n, places[r] = (size - 1 - r) * n;
    fill(out, n * size);
    MPI_Reduce_scatter(is_in_place ? MPI_IN_PLACE : in, out, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    expect(is_sum(out, n, size, rank * n), "reduce_scatter");
    fill(out, n);
    MPI_Exscan(is_in_place ? MPI_IN_PLACE : in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0) expect(is_sum(out, n, rank, 0), "exscan");
    memset(out, 0, sizeof(long) * (size_t)(n * size));
    fill(out + places[rank], n);
    MPI_Gatherv(at_root, n, MPI_LONG, out, counts, places, MPI_LONG, root, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == root; ++r) expect(is_vector(out + places[r], n, r), "gatherv");
    memset(out, 0, sizeof(long) * (size_t)(n * size));
    fill(out + places[rank], n);
    MPI_Allgatherv(is_in_place ? MPI_IN_PLACE : in, n, MPI_LONG, out, counts, places, MPI_LONG,
                   MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(is_vector(out + places[r], n, r), "allgatherv");
    for (int r = 0; r < size; ++r) fill(out + r * n, n);
    MPI_Alltoallv(is_in_place ? MPI_IN_PLACE : out, counts, places, MPI_LONG, is_in_place ? out : in, counts,
                  places, MPI_LONG, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) expect(is_vector((is_in_place ? out : in) + places[r], n, r), "alltoallv");
    for (int r = 0; r < size; ++r) fill(in + r * n, n);
    void* part = is_in_place && rank == root ? MPI_IN_PLACE : (void*)out;
    memset(out, 0, sizeof(long) * (size_t)n);
    MPI_Scatter(rank == root ? in : NULL, n, MPI_LONG, part, n, MPI_LONG, root, MPI_COMM_WORLD);
    if (part != MPI_IN_PLACE) expect(is_vector(out, n, root), "scatter");
    free(counts);
    free(places);
  }
  MPI_Op_free(&op);
  // Every other element, at its absolute address.
  MPI_Datatype gaps, absolute;
  MPI_Aint address;
  MPI_Type_vector(n, 1, 2, MPI_LONG, &gaps);
  MPI_Get_address(out, &address);
  MPI_Type_create_hindexed(1, (int[]){1}, &address, gaps, &absolute);
  MPI_Type_commit(&absolute);
  for (int i = 0; i < 2 * n; ++i) out[i] = i % 2 == 0 ? value(rank, i / 2) : -1;
  MPI_Bcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * n; ++i) expect(out[i] == (i % 2 == 0 ? value(root, i / 2) : -1), "bcast with gaps");
  MPI_Type_free(&absolute);
  MPI_Type_free(&gaps);
  double parts[3] = {1e16 / (rank + 1), 1.0 / (rank + 3), -1e16}, sums[3];
  MPI_Allreduce(parts, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int has_faults = argc > 1 && strcmp(argv[1], "faults") == 0;
  const int counts[] = {2, 100, 6000};
  long* in = malloc(sizeof(long) * (size_t)(2 * 6000 * size));
  long* out = malloc(sizeof(long) * (size_t)(2 * 6000 * size));
  for (int turn = 0; turn < 3; ++turn) {
    for (int c = 0; c < 3; ++c) {
      spoiled_operations(in, out, counts[c]);
      if (!has_faults) other_operations(in, out, counts[c]);
    }
  }
  free(in);
  free(out);
  say_result();
  MPI_Finalize();
  return 0;
}
