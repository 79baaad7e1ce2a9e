// SPDX-License-Identifier: BSD-3-Clause
// One rank dies inside a loop of collectives. The launcher has to end the others; nothing may stay behind.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { last_turn = 200, elements = 5000 };

int main(int argument_count, char** arguments) {
  static int values[elements], sums[elements];
  int rank, size;
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int signal_number = argument_count > 1 ? atoi(arguments[1]) : SIGKILL;
  for (int turn = 0;; ++turn) {
    if (turn == last_turn && rank == size - 1) kill(getpid(), signal_number);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(values, sums, turn % 2 ? elements : 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(values, turn % 3 ? elements : 2, MPI_INT, turn % size, MPI_COMM_WORLD);
  }
}
