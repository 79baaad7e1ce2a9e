// SPDX-License-Identifier: BSD-3-Clause
// The last rank dies. Those of its node wait for it in collectives of several kinds, each on a communicator
// of its own. Where nobody ends the job, they hear of it there (MPI 4.1, section 9.3). Prints what each rank
// has heard.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "persistent.inc"

enum { kinds = 7, most = 400000, streamed = 20000, most_ranks = 8 };
static const char* const names[kinds] = {"lines",           "channel",           "stream",    "copy",
                                         "no block, small", "no block, channel", "persistent"};
static int rank, size;
static MPI_Comm comms[kinds];
static MPI_Request persistent;
static char in[most_ranks * most], out[most_ranks * most];

static int call(int kind) {
  int counts[most_ranks], places[most_ranks], one = 1, sum, error;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < size; ++i) {
    counts[i] = (kind == 2 ? streamed : most) - i - rank;
    places[i] = i * most;
  }
  switch (kind) {
    case 0:
      return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[kind]);
    case 1:
      return MPI_Bcast(in, most, MPI_CHAR, size - 1, comms[kind]);
    case 2:
    case 3:
      return MPI_Alltoallv(in, counts, places, MPI_CHAR, out, counts, places, MPI_CHAR, comms[kind]);
    case 4:
      error = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[kind], &request);
      break;
    case 5:
      error = MPI_Ibcast(in, most, MPI_CHAR, size - 1, comms[kind], &request);
      break;
    default:
      error = MPI_Start(&persistent);
      return error == MPI_SUCCESS ? MPI_Wait(&persistent, MPI_STATUS_IGNORE) : error;
  }
  return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks || !has_persistent_collectives()) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int kind = 0; kind < kinds; ++kind) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[kind]);
    MPI_Comm_set_errhandler(comms[kind], MPI_ERRORS_RETURN);
    MPI_Barrier(comms[kind]);
  }
  MPI_Bcast_init(in, most, MPI_CHAR, size - 1, comms[kinds - 1], MPI_INFO_NULL, &persistent);
  for (int turn = 0; turn < 3; ++turn) {
    for (int kind = 0; kind < kinds; ++kind) {
      if (call(kind) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) kill(getpid(), SIGKILL);
  for (int kind = 0; kind < kinds; ++kind) {
    const int error = call(kind);
    printf("%d %s: %s\n", rank, names[kind], error == MPI_SUCCESS ? "success" : "an error");
    fflush(stdout);
  }
  // The MPI's own end would wait for the dead one, and launchers end a job that a rank has left.
  const int turns = size - 2;
  for (int turn = 0; turn < 2 * turns; ++turn) {
    const int other = 1 + turn % turns, from = turn < turns ? other : 0, to = turn < turns ? 0 : other;
    if (rank == to) MPI_Recv(NULL, 0, MPI_INT, from, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == from) MPI_Send(NULL, 0, MPI_INT, to, turn, MPI_COMM_WORLD);
  }
  _exit(0);
}
