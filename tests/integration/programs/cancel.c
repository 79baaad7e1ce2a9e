// SPDX-License-Identifier: BSD-3-Clause
// Collectives that do not block cannot be cancelled: what MPI_Cancel says of one, and whose error handler is
// asked. The call goes on, and its result is right. Prints what it saw.
#include <mpi.h>
#include <stdio.h>

static int asked_of_comm, asked_of_world, asked_of_self;

static void note_comm(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  ++asked_of_comm;
}
static void note_world(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  ++asked_of_world;
}
static void note_self(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  ++asked_of_self;
}

static void set_handler(MPI_Comm comm, MPI_Comm_errhandler_function* note) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(note, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
}

int main(int argument_count, char** arguments) {
  int rank, size;
  MPI_Comm comm;
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  set_handler(comm, note_comm);
  set_handler(MPI_COMM_WORLD, note_world);
  set_handler(MPI_COMM_SELF, note_self);
  for (int turn = 0; turn < 20; ++turn) MPI_Barrier(comm);
  int sum = 0, class = MPI_SUCCESS;
  MPI_Request request;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  const int error = MPI_Cancel(&request);
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const int is_right = sum == size * (size - 1) / 2;
  if (rank == 0) {
    printf("%s, asked: communicator %d, world %d, self %d, result %s\n",
           class == MPI_SUCCESS       ? "success"
           : class == MPI_ERR_REQUEST ? "MPI_ERR_REQUEST"
                                      : "another error",
           asked_of_comm, asked_of_world, asked_of_self, is_right ? "right" : "wrong");
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
