// SPDX-License-Identifier: BSD-3-Clause
// One rank comes late, each in its turn. It first sends to all others, more than goes without their help;
// then it locks, changes and reads what they hold in a window. They wait for it meanwhile: in a collective,
// where messages of those that have come lie already, or for a message of its. This hangs where such waits
// let the MPI go on only until it has found a message, or not at all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { message_bytes = 4 << 20, tag = 1, told_tag, late_us = 20000, epochs = 5 };
enum { collectives = 4, ways = 9 };

static int rank, size;

static void collective(int which) {
  int own = rank + 1, sum = 0;
  int* all = (int*)calloc((size_t)size, sizeof *all);
  switch (which) {
    case 0:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (sum != size * (size + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 3);
      break;
    case 2:
      MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
      if (all[size - 1] != size) MPI_Abort(MPI_COMM_WORLD, 4);
      break;
    default:
      MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      if (rank == 0 && sum != size * (size + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 5);
      MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
      break;
  }
  free(all);
}

// The late rank tells the others that it has come, and they do nothing but wait for that.
static void wait_for_word(int which, int late) {
  int told = -1, is_there = 0;
  MPI_Request request;
  if (rank == late) {
    for (int other = 0; other < size; ++other)
      if (other != rank) MPI_Send(&rank, 1, MPI_INT, other, told_tag, MPI_COMM_WORLD);
    return;
  }
  switch (which) {
    case 4:
      MPI_Recv(&told, 1, MPI_INT, late, told_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 5:
      MPI_Irecv(&told, 1, MPI_INT, MPI_ANY_SOURCE, told_tag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case 6:
      MPI_Irecv(&told, 1, MPI_INT, late, told_tag, MPI_COMM_WORLD, &request);
      while (!is_there) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
      break;
    case 7:
      MPI_Probe(late, told_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(&told, 1, MPI_INT, late, told_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    default:
      while (!is_there) MPI_Iprobe(late, told_tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
      MPI_Recv(&told, 1, MPI_INT, late, told_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
  }
  if (told != late) MPI_Abort(MPI_COMM_WORLD, 9);
}

// Each of the late rank's epochs adds one to what each rank holds.
static void change_all(MPI_Win window) {
  for (int i = 0; i < epochs; ++i) {
    MPI_Win_lock_all(0, window);
    for (int other = 0; other < size; ++other) {
      int one = 1, before = -1;
      MPI_Fetch_and_op(&one, &before, MPI_INT, other, 0, MPI_SUM, window);
      MPI_Win_flush(other, window);
      if (before < i) MPI_Abort(MPI_COMM_WORLD, 6);
    }
    MPI_Win_unlock_all(window);
  }
}

static void be_late(unsigned char* message, unsigned char value, MPI_Win window) {
  usleep(late_us);  // so that the others' messages are there
  memset(message, value, message_bytes);
  for (int other = 0; other < size; ++other)
    if (other != rank) MPI_Send(message, message_bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
  change_all(window);
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* message = (unsigned char*)malloc(message_bytes);
  int* held = (int*)calloc(1, sizeof *held);
  MPI_Win window;
  MPI_Win_create(held, sizeof *held, sizeof *held, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int which = 0; which < ways; ++which) {
    for (int late = 0; late < size; ++late) {
      const unsigned char value = (unsigned char)(17 * which + late);
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == late) {
        be_late(message, value, window);
      } else {
        memset(message, 0xFF, message_bytes);
        MPI_Irecv(message, message_bytes, MPI_BYTE, late, tag, MPI_COMM_WORLD, &request);
      }
      which < collectives ? collective(which) : wait_for_word(which, late);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (message[0] != value || message[message_bytes - 1] != value) MPI_Abort(MPI_COMM_WORLD, 7);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  const int right = *held == ways * size * epochs;
  MPI_Win_unlock(rank, window);
  if (!right) MPI_Abort(MPI_COMM_WORLD, 8);
  MPI_Win_free(&window);
  free(held);
  free(message);
  if (rank == 0) puts("OK");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
