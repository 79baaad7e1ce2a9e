// SPDX-License-Identifier: BSD-3-Clause
// Programs about which a report has to tell the truth: report late|persistent|started|overlapping.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "persistent.inc"

static int rank, size;

// Small calls, for one in five hundred of which the last rank comes 20 ms late. Prints how long rank 0 was in
// them.
static void late(void) {
  double inside = 0;
  for (int call = 0; call < 5000; ++call) {
    int sum = 0;
    if (call % 500 == 499 && rank == size - 1) usleep(20000);
    const double start = MPI_Wtime();
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    inside += MPI_Wtime() - start;
  }
  if (rank == 0) printf("INSIDE %.9f\n", inside);
}

// Starts of persistent calls of which Unisono makes one kind and leaves the other to the MPI.
static void persistent(void) {
  int sum = 0, all[64], counts[64], places[64];
  MPI_Request requests[2];
  for (int r = 0; r < size; ++r) counts[r] = 1, places[r] = r;
  MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Gatherv_init(&rank, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
  for (int start = 0; start < 50; ++start) {
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&requests[i]);
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

static void started(void) {
  for (int call = 0; call < 20; ++call) {
    int sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// Several under way at once while the program does something else.
static void overlapping(void) {
  enum { count = 8 };
  for (int turn = 0; turn < 5; ++turn) {
    int sums[count];
    MPI_Request requests[count];
    MPI_Status statuses[count];
    for (int i = 0; i < count; ++i)
      MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    if (rank == 0) usleep(20000);
    MPI_Waitall(count, requests, statuses);
  }
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argument_count > 1 ? arguments[1] : "";
  if (strcmp(what, "late") == 0) late();
  if (strcmp(what, "persistent") == 0 && has_persistent_collectives()) persistent();
  if (strcmp(what, "started") == 0) started();
  if (strcmp(what, "overlapping") == 0) overlapping();
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
