// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of no data (MPI 4.1, section 5.1): their buffers may be NULL on one side, and real on the other.
// Messages by several calls, then collectives. Prints OK, or what was wrong.
#include <mpi.h>
#include <stdio.h>

static int rank, wrong;

static void check(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static void check_empty(MPI_Status* status, const char* what) {
  int bytes = -1;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  check(bytes == 0, what);
}

static void send_from_nowhere(MPI_Datatype empty) {
  char bytes[8];
  MPI_Status status;
  MPI_Message message;
  if (rank == 0) {
    MPI_Send(NULL, 1, empty, 1, 1, MPI_COMM_WORLD);
    MPI_Send(MPI_BOTTOM, 3, empty, 1, 2, MPI_COMM_WORLD);
    MPI_Ssend(NULL, 5, empty, 1, 3, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(bytes, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    check_empty(&status, "message from NULL");
    MPI_Probe(0, 2, MPI_COMM_WORLD, &status);
    check_empty(&status, "probed message from MPI_BOTTOM");
    MPI_Recv(bytes, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &status);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(bytes, 8, MPI_BYTE, &message, &status);
    check_empty(&status, "matched message from NULL");
  }
}

static void receive_nowhere(MPI_Datatype empty) {
  char bytes[8] = {0};
  MPI_Status status;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send(bytes, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
    MPI_Send(bytes, 2, empty, 1, 5, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(NULL, 1, empty, 0, 4, MPI_COMM_WORLD, &status);
    check_empty(&status, "message to NULL");
    MPI_Irecv(NULL, 1, empty, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    check_empty(&status, "started message to NULL");
  }
}

static void use_collectives(MPI_Datatype empty) {
  char bytes[64], all[64];
  int sum = 0, one = 1;
  void* const own = rank == 0 ? NULL : bytes;
  for (int i = 0; i < 3; ++i) {
    MPI_Bcast(own, 1, empty, 0, MPI_COMM_WORLD);
    MPI_Gather(own, 1, empty, all, 1, empty, 1, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, empty, own, 1, empty, 1, MPI_COMM_WORLD);
    MPI_Alltoall(own, 1, empty, all, 1, empty, MPI_COMM_WORLD);
    MPI_Allgather(own, 1, empty, all, 1, empty, MPI_COMM_WORLD);
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(sum == size, "sum behind collectives of nothing");
}

int main(int argc, char** argv) {
  MPI_Datatype none, of_nothing;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_create_struct(0, NULL, NULL, NULL, &of_nothing);
  MPI_Type_commit(&none), MPI_Type_commit(&of_nothing);
  MPI_Datatype both[] = {none, of_nothing};
  for (int i = 0; i < 2; ++i) {
    send_from_nowhere(both[i]);
    receive_nowhere(both[i]);
    use_collectives(both[i]);
  }
  MPI_Type_free(&none), MPI_Type_free(&of_nothing);
  int failed = 0;
  MPI_Allreduce(&wrong, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && failed == 0) puts("OK");
  MPI_Finalize();
  return failed != 0;
}
