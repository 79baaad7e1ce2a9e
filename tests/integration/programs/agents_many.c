// SPDX-License-Identifier: BSD-3-Clause
// Many communicators at once, and a sum on each that does not block; each result is looked at.
//   agents_many COMMUNICATORS [pairs]
//
// With `pairs` each is of two ranks: the n-th of the first half of all ranks, and of the second half.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 200 };

int main(int argc, char** argv) {
  static MPI_Comm comms[most];
  int rank, size;
  const int count = argc > 1 ? atoi(argv[1]) : 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count < 1 || count > most) MPI_Abort(MPI_COMM_WORLD, 2);
  const int are_pairs = argc > 2 && strcmp(argv[2], "pairs") == 0;
  for (int i = 0; i < count; ++i) {
    if (are_pairs) {
      MPI_Comm_split(MPI_COMM_WORLD, rank % (size / 2), rank, &comms[i]);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    MPI_Barrier(comms[i]);
  }
  const int members = are_pairs ? 2 : size;
  const long ranks = are_pairs ? 2L * (rank % (size / 2)) + size / 2 : (long)size * (size - 1) / 2;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < count; ++i) {
      const long mine = rank + 100 * i + turn;
      long sum = -1;
      MPI_Request request;
      MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comms[i], &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      const long right = (long)members * (100 * i + turn) + ranks;
      if (sum != right) {
        fprintf(stderr, "rank %d, communicator %d, turn %d: %ld, not %ld\n", rank, i, turn, sum, right);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) printf("OK\n");
  MPI_Finalize();
  return 0;
}
