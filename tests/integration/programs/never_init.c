// SPDX-License-Identifier: BSD-3-Clause
// A program that is linked with MPI. With "never" it makes no MPI call at all. With "early" it asks only what
// may be asked before MPI_Init. With "twice" it initialises a second time, which the MPI below has to refuse
// in its own way.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argument_count, char** arguments) {
  const char* mode = argument_count > 1 ? arguments[1] : "never";
  if (strcmp(mode, "early") == 0) {
    int is_initialized = -1, major = 0, minor = 0;
    MPI_Initialized(&is_initialized);
    MPI_Get_version(&major, &minor);
    if (is_initialized != 0 || major < 3) return 3;
  }
  if (strcmp(mode, "twice") == 0) {
    int value = 1, sum = 0;
    MPI_Init(&argument_count, &arguments);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int error = MPI_Init(&argument_count, &arguments);
    printf("second MPI_Init returned %s\n", error == MPI_SUCCESS ? "success" : "an error");
    fflush(stdout);
    MPI_Finalize();
  }
  puts("end");
  return 0;
}
