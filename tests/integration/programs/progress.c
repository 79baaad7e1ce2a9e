// SPDX-License-Identifier: BSD-3-Clause
// A wait inside a collective must make the MPI below progress: even ranks start a large send, then enter a
// collective; odd ranks receive first. An implementation that waits on shared memory alone hangs here.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { message_bytes = 8 << 20, tag = 1, rounds = 3 };

static int rank, size;

static void collective(int which, int root) {
  int own = rank + 1, sum = 0;
  int* all = (int*)calloc((size_t)size, sizeof *all);
  switch (which) {
    case 0:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Bcast(&own, 1, MPI_INT, root, MPI_COMM_WORLD);
      break;
    case 2:
      MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (sum != size * (size + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 3);
      break;
    default:
      MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
      if (all[size - 1] != size) MPI_Abort(MPI_COMM_WORLD, 4);
      break;
  }
  free(all);
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* message = (unsigned char*)malloc(message_bytes);
  // Partners are as far apart as can be, so that they sit on different nodes where there are several.
  const int half = size / 2;
  const int is_sender = rank < half, is_receiver = rank >= half && rank < 2 * half;
  for (int round = 0; round < rounds; ++round) {
    for (int which = 0; which < 4; ++which) {
      const unsigned char value = (unsigned char)(17 * round + which);
      MPI_Request request = MPI_REQUEST_NULL;
      memset(message, is_sender ? value : 0xFF, message_bytes);
      if (is_sender) MPI_Isend(message, message_bytes, MPI_BYTE, rank + half, tag, MPI_COMM_WORLD, &request);
      if (is_receiver) {
        MPI_Recv(message, message_bytes, MPI_BYTE, rank - half, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (message[0] != value || message[message_bytes - 1] != value) MPI_Abort(MPI_COMM_WORLD, 5);
      }
      collective(which, 0);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  free(message);
  if (rank == 0) puts("OK");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
