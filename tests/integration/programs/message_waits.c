// SPDX-License-Identifier: BSD-3-Clause
// How much of its time a rank computes while it waits for a message that comes half a second later, in five
// ways of waiting. The last rank is late, and all others wait. Prints the largest share.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ways = 5, late_ns = 500000000 };

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void await_message(int way, int from) {
  int got[2] = {-1, -1};
  MPI_Request requests[2];
  MPI_Status status, both[2];
  int index;
  switch (way) {
    case 0:
      MPI_Recv(&got[0], 1, MPI_INT, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &status);
      break;
    case 2:
      MPI_Probe(from, way, MPI_COMM_WORLD, &status);
      MPI_Recv(&got[0], 1, MPI_INT, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 3:
      for (int i = 0; i < 2; ++i) MPI_Irecv(&got[i], 1, MPI_INT, from, way, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitall(2, requests, both);
      break;
    default:
      for (int i = 0; i < 2; ++i) MPI_Irecv(&got[i], 1, MPI_INT, from, way, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      MPI_Waitall(2, requests, both);
  }
  if (got[0] != way || (way >= 3 && got[1] != way + 100)) {
    printf("FAIL: way %d got %d and %d\n", way, got[0], got[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double most = 0;
  for (int way = 0; way < ways; ++way) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = seconds(CLOCK_MONOTONIC), computed = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (rank < size - 1) {
      await_message(way, size - 1);
      const double share =
          (seconds(CLOCK_PROCESS_CPUTIME_ID) - computed) / (seconds(CLOCK_MONOTONIC) - begin);
      if (share > most) most = share;
    } else {
      const struct timespec late = {.tv_nsec = late_ns};
      nanosleep(&late, NULL);
      for (int to = 0; to < size - 1; ++to)
        for (int i = 0; i < (way >= 3 ? 2 : 1); ++i) {
          const int sent = way + 100 * i;
          MPI_Send(&sent, 1, MPI_INT, to, way, MPI_COMM_WORLD);
        }
    }
  }
  double of_all = 0;
  MPI_Reduce(&most, &of_all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("OK, at most %.3f\n", of_all);
  MPI_Finalize();
  return 0;
}
