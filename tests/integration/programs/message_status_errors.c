// SPDX-License-Identifier: BSD-3-Clause
// MPI_ERROR of statuses in arrays (MPI 4.1, 3.7.5): it stays as it was where nothing has failed, and is
// written in all of them where a message was too long. Prints OK, or what was wrong.
#include <mpi.h>
#include <stdio.h>

enum { requests = 3, untouched = 4711 };
enum { waitall, testall, waitsome, testsome, ways };

static int rank, wrong;

static void check(int is_right, const char* what, int way, int got) {
  if (is_right) return;
  ++wrong;
  fprintf(stderr, "rank %d: wrong %s in way %d: %d\n", rank, what, way, got);
}

// All of them are over. Returns what the call did.
static int complete(int way, MPI_Request* all, MPI_Status* statuses, int* places) {
  int flag = 0, count = 0, error = MPI_SUCCESS;
  switch (way) {
    case waitall:
      return MPI_Waitall(requests, all, statuses);
    case testall:
      while (!flag && error == MPI_SUCCESS) error = MPI_Testall(requests, all, &flag, statuses);
      return error;
    case waitsome:
      error = MPI_Waitsome(requests, all, &count, places, statuses);
      break;
    default:
      error = MPI_Testsome(requests, all, &count, places, statuses);
  }
  check(count == requests, "number of what was completed", way, count);
  return error;
}

static void receive(int way, int too_long) {
  int values[requests][2], places[requests] = {0, 1, 2};
  MPI_Request all[requests];
  MPI_Status statuses[requests];
  for (int i = 0; i < requests; ++i) {
    MPI_Irecv(values[i], i == too_long ? 1 : 2, MPI_INT, 0, i, MPI_COMM_WORLD, &all[i]);
    statuses[i].MPI_ERROR = untouched;
  }
  MPI_Barrier(MPI_COMM_WORLD);  // rank 0 has sent
  int is_over = 0;
  for (int i = 0; i < requests; ++i) {
    for (is_over = 0; !is_over;) MPI_Request_get_status(all[i], &is_over, MPI_STATUS_IGNORE);
  }
  const int error = complete(way, all, statuses, places);
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  check(class == (too_long < 0 ? MPI_SUCCESS : MPI_ERR_IN_STATUS), "error", way, class);
  for (int i = 0; i < requests; ++i) {
    if (too_long < 0) {
      check(statuses[i].MPI_ERROR == untouched, "MPI_ERROR where nothing failed", way, statuses[i].MPI_ERROR);
      continue;
    }
    MPI_Error_class(statuses[i].MPI_ERROR, &class);
    check(class == (places[i] == too_long ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "MPI_ERROR", way, class);
  }
}

static void send(void) {
  const int values[2] = {1, 2};
  for (int i = 0; i < requests; ++i) MPI_Send(values, 2, MPI_INT, 1, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int way = 0; way < ways; ++way) {
    for (int too_long = -1; too_long < requests; ++too_long) rank == 0 ? send() : receive(way, too_long);
  }
  int failed = 0;
  MPI_Allreduce(&wrong, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && failed == 0) puts("OK");
  MPI_Finalize();
  return failed != 0;
}
