// SPDX-License-Identifier: BSD-3-Clause
// The last rank dies. The others wait for messages of it, or for its receives, each on a communicator of its
// own, and hear of it there (MPI 4.1, section 9.3). Prints what each rank has heard.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kinds = 7, most = 400000 };
static const char* const names[kinds] = {"receive", "wait",      "wait for any",    "probe",
                                         "message", "long send", "synchronous send"};
static int rank, size;
static MPI_Comm comms[kinds];
static char data[most];

static int call(int kind) {
  const int last = size - 1;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  int index, error;
  switch (kind) {
    case 0:
      return MPI_Recv(data, most, MPI_CHAR, last, 0, comms[kind], MPI_STATUS_IGNORE);
    case 1:
      error = MPI_Irecv(data, most, MPI_CHAR, last, 0, comms[kind], &requests[0]);
      return error == MPI_SUCCESS ? MPI_Wait(&requests[0], MPI_STATUS_IGNORE) : error;
    case 2:
      error = MPI_Irecv(data, most, MPI_CHAR, MPI_ANY_SOURCE, 0, comms[kind], &requests[0]);
      return error == MPI_SUCCESS ? MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE) : error;
    case 3:
      return MPI_Probe(last, 0, comms[kind], MPI_STATUS_IGNORE);
    case 4:
      return MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[kind], &message, MPI_STATUS_IGNORE);
    case 5:
      return MPI_Send(data, most, MPI_CHAR, last, 0, comms[kind]);
    default:
      return MPI_Ssend(data, 1, MPI_CHAR, last, 0, comms[kind]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int kind = 0; kind < kinds; ++kind) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[kind]);
    MPI_Comm_set_errhandler(comms[kind], MPI_ERRORS_RETURN);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) kill(getpid(), SIGKILL);
  for (int kind = 0; kind < kinds; ++kind) {
    const int error = call(kind);
    printf("%d %s: %s\n", rank, names[kind], error == MPI_SUCCESS ? "success" : "an error");
    fflush(stdout);
  }
  // The MPI's own end would wait for the dead one, and launchers end a job that a rank has left.
  sleep(2);
  _exit(0);
}
