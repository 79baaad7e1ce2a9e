// SPDX-License-Identifier: BSD-3-Clause
// Heat that spreads in 2 or 3 dimensions, each rank a box of about EDGE cells each way:
//     stencil DIMENSIONS EDGE STEPS
// A step exchanges the faces with the neighbours (as datatypes, so most of them have gaps), and computes.
// Every tenth step all ranks learn the largest change. Rank 0 prints the seconds of messages, of the whole,
// and a checksum.
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 3 };

static int dimensions, edge;
static int sizes[most];  // with a layer around it, where that direction has neighbours
static MPI_Comm comm;
static MPI_Datatype inner[2 * most], outer[2 * most];  // what goes out by a face, and what comes in

static void make_faces(void) {
  for (int face = 0; face < 2 * dimensions; ++face) {
    int extent[most], start[most];
    for (int d = 0; d < most; ++d) {
      extent[d] = d < dimensions ? edge : 1;
      start[d] = d < dimensions ? 1 : 0;
    }
    const int d = face / 2;
    extent[d] = 1;
    start[d] = face % 2 == 0 ? 1 : edge;
    MPI_Type_create_subarray(most, sizes, extent, start, MPI_ORDER_C, MPI_DOUBLE, &inner[face]);
    start[d] = face % 2 == 0 ? 0 : edge + 1;
    MPI_Type_create_subarray(most, sizes, extent, start, MPI_ORDER_C, MPI_DOUBLE, &outer[face]);
    MPI_Type_commit(&inner[face]);
    MPI_Type_commit(&outer[face]);
  }
}

static void exchange(double* cells) {
  MPI_Request requests[4 * most];
  int count = 0;
  for (int d = 0; d < dimensions; ++d) {
    int below, above;
    MPI_Cart_shift(comm, d, 1, &below, &above);
    MPI_Irecv(cells, 1, outer[2 * d], below, 2 * d, comm, &requests[count++]);
    MPI_Irecv(cells, 1, outer[2 * d + 1], above, 2 * d + 1, comm, &requests[count++]);
    MPI_Isend(cells, 1, inner[2 * d], below, 2 * d + 1, comm, &requests[count++]);
    MPI_Isend(cells, 1, inner[2 * d + 1], above, 2 * d, comm, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static size_t stride(int d) {
  size_t cells = 1;
  for (int i = d + 1; i < most; ++i) cells *= (size_t)sizes[i];
  return cells;
}

static double spread_heat(const double* now, double* later) {
  double change = 0;
  const size_t x = stride(0), y = stride(1);
  const int last = dimensions == 3 ? edge : 0;
  for (int i = 1; i <= edge; ++i)
    for (int j = 1; j <= edge; ++j)
      for (int k = dimensions == 3 ? 1 : 0; k <= last; ++k) {
        const size_t at = (size_t)i * x + (size_t)j * y + (size_t)k;
        double around = now[at - x] + now[at + x] + now[at - y] + now[at + y] - 4 * now[at];
        if (dimensions == 3) around += now[at - 1] + now[at + 1] - 2 * now[at];
        later[at] = now[at] + 0.1 * around;
        change = fmax(change, fabs(around));
      }
  return change;
}

static uint64_t checksum_of(const double* cells, size_t count) {
  const unsigned char* bytes = (const unsigned char*)cells;
  uint64_t sum = 1469598103934665603U;
  for (size_t i = 0; i < count * sizeof(double); ++i) sum = (sum ^ bytes[i]) * 1099511628211U;
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc == 4 ? atoi(argv[3]) : 0;
  dimensions = argc == 4 ? atoi(argv[1]) : 0;
  edge = argc == 4 ? atoi(argv[2]) : 0;
  if (steps < 1 || edge < 1 || dimensions < 2 || dimensions > most) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank, size, grid[most] = {0}, is_periodic[most] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, dimensions, grid);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, grid, is_periodic, 0, &comm);
  MPI_Comm_rank(comm, &rank);
  for (int d = 0; d < most; ++d) sizes[d] = d < dimensions ? edge + 2 : 1;
  const size_t count = stride(0) * (size_t)sizes[0];
  double *now = calloc(count, sizeof(double)), *later = calloc(count, sizeof(double));
  for (size_t i = 0; i < count; ++i) now[i] = (double)((i * 31 + (size_t)rank * 17) % 101);
  make_faces();
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  double in_messages = 0, change = 0;
  for (int step = 0; step < steps; ++step) {
    const double before = MPI_Wtime();
    exchange(now);
    in_messages += MPI_Wtime() - before;
    change = spread_heat(now, later);
    double* old = now;
    now = later;
    later = old;
    if (step % 10 == 9) MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, comm);
  }
  MPI_Barrier(comm);
  const double total = MPI_Wtime() - begin;
  uint64_t own = checksum_of(now, count), all = 0;
  MPI_Reduce(&own, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, comm);
  if (rank == 0)
    printf("messages %.6g\nwhole %.6g\nresult %016llx\n", in_messages, total, (unsigned long long)all);
  MPI_Finalize();
  return 0;
}
