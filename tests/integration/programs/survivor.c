// SPDX-License-Identifier: BSD-3-Clause
// One rank dies, and the others go on with the extensions for user-level failure mitigation. The collective
// ends with an error. The communicator is revoked and shrunken, and the shrunken one works.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { calls_before = 300 };

static int rank, size;

static void begin(void) {
  const int one = 1;
  int sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < calls_before; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 1) raise(SIGKILL);
}

static void say(const char* what, int error) {
  int class = 0;
  MPI_Error_class(error, &class);
  if (rank == 0) printf("%s: %s\n", what, class == MPI_SUCCESS ? "success" : "an error");
  fflush(stdout);
}

static void wait_for_the_dead(void) {
  const int one = 1;
  int sum = 0;
  say("collective", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void shrink(void) {
  const int one = 1;
  int sum = 0, number = 0;
  MPI_Comm alive;
  MPIX_Comm_revoke(MPI_COMM_WORLD);
  MPIX_Comm_shrink(MPI_COMM_WORLD, &alive);
  const int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, alive);
  MPI_Comm_size(alive, &number);
  say(sum == number && number == size - 1 ? "shrunken" : "wrong", error);
  MPI_Comm_free(&alive);
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  begin();
  wait_for_the_dead();
  shrink();
  _exit(0);  // Open MPI 5 may stand still in MPI_Finalize after a death, natively too
}
