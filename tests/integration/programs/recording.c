// SPDX-License-Identifier: BSD-3-Clause
// Messages of every kind, each so many times that a recording of them can be counted:
//
//     recording               all kinds between ranks 0 and 1; others send nothing
//     recording deep COUNT    rank 1 sends COUNT messages to rank 0, which asks for the last one first
//     recording kill          rank 1 is killed
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MPICH 4 says of MPI_STATUSES_IGNORE that it is too short.
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static int rank, buffer[64], other[64];

static void send_all(MPI_Comm comm) {
  MPI_Request requests[4];
  int kind = 0;
  MPI_Send(buffer, 1, MPI_INT, 0, kind++, comm);
  MPI_Ssend(buffer, 2, MPI_INT, 0, kind++, comm);
  MPI_Isend(buffer, 3, MPI_INT, 0, kind++, comm, &requests[0]);
  MPI_Issend(buffer, 4, MPI_INT, 0, kind++, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Send_init(buffer, 5, MPI_INT, 0, kind++, comm, &requests[0]);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Sendrecv(buffer, 1, MPI_INT, 0, kind, other, 1, MPI_INT, 0, kind, comm, MPI_STATUS_IGNORE);
  ++kind;
  MPI_Sendrecv_replace(buffer, 1, MPI_INT, 0, kind, 0, kind, comm, MPI_STATUS_IGNORE);
  ++kind;
  for (int i = 0; i < 6; ++i) MPI_Send(buffer, 1, MPI_INT, 0, kind++, comm);
  MPI_Send(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
}

static void receive_all(MPI_Comm comm) {
  MPI_Request requests[8];
  MPI_Status status, statuses[8];
  MPI_Message message;
  int kind = 0, index, count, which[8], flag = 0;
  MPI_Recv(other, 1, MPI_INT, MPI_ANY_SOURCE, kind++, comm, &status);
  MPI_Recv(other, 2, MPI_INT, 1, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  ++kind;
  MPI_Irecv(other, 3, MPI_INT, 1, kind++, comm, &requests[0]);
  MPI_Irecv(other + 8, 4, MPI_INT, 1, kind++, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Recv_init(other, 5, MPI_INT, 1, kind++, comm, &requests[0]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(1, requests);
    MPI_Wait(&requests[0], &status);
  }
  MPI_Request_free(&requests[0]);
  MPI_Sendrecv(buffer, 1, MPI_INT, 1, kind, other, 1, MPI_INT, 1, kind, comm, MPI_STATUS_IGNORE);
  ++kind;
  MPI_Sendrecv_replace(buffer, 1, MPI_INT, 1, kind, 1, kind, comm, &status);
  ++kind;
  MPI_Irecv(other, 1, MPI_INT, 1, kind++, comm, &requests[0]);
  requests[1] = MPI_REQUEST_NULL;
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  MPI_Irecv(other, 1, MPI_INT, 1, kind++, comm, &requests[0]);
  do MPI_Testany(2, requests, &index, &flag, &status);
  while (!flag);
  MPI_Irecv(other, 1, MPI_INT, 1, kind++, comm, &requests[0]);
  MPI_Waitsome(2, requests, &count, which, MPI_STATUSES_IGNORE);
  MPI_Irecv(other, 1, MPI_INT, 1, kind++, comm, &requests[0]);
  do MPI_Testall(2, requests, &flag, statuses);
  while (!flag);
  MPI_Mprobe(1, kind++, comm, &message, &status);
  MPI_Mrecv(other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Probe(1, kind, comm, &status);
  MPI_Recv(other, 1, MPI_INT, 1, kind++, comm, MPI_STATUS_IGNORE);
  // Nobody sends this.
  MPI_Irecv(other, 1, MPI_INT, 1, 1000, comm, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Iprobe(1, 1000, comm, &flag, MPI_STATUS_IGNORE);
}

static void deep(int count) {
  if (rank == 1)
    for (int i = 0; i < count; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = count - 1; i >= 0; --i)
      MPI_Recv(buffer, 1, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2 && strcmp(argv[1], "deep") == 0) {
    deep(atoi(argv[2]));
  } else if (argc > 1) {
    MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Comm copy, swapped;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &swapped);
    if (rank == 1) send_all(MPI_COMM_WORLD);
    if (rank == 0) receive_all(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) send_all(copy);
    if (rank == 0) receive_all(copy);
    int size;
    MPI_Comm_size(swapped, &size);
    if (rank == 1) MPI_Send(buffer, 1, MPI_INT, size - 1, 77, swapped);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_INT, size - 2, 77, swapped, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&swapped);
  }
  MPI_Finalize();
  if (rank == 0) puts("OK");
  return 0;
}
