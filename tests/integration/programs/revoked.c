// SPDX-License-Identifier: BSD-3-Clause
// The first collective of a communicator that was revoked fails on all ranks. MPI 5 has no such function yet:
// Open MPI's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int (*revoke)(MPI_Comm) = NULL;
  int (*is_revoked)(MPI_Comm, int*) = NULL;
  *(void**)&revoke = dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke");
  *(void**)&is_revoked = dlsym(RTLD_DEFAULT, "MPIX_Comm_is_revoked");
  int rank = 0, failed = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (revoke == NULL || is_revoked == NULL) {
    if (rank == 0) puts("NONE");
    MPI_Finalize();
    return 0;
  }
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    // By all: natively a rank that is in the barrier already may stay there.
    revoke(comm);
    if (MPI_Barrier(comm) == MPI_SUCCESS) ++failed;
    MPI_Comm_free(&comm);
  }
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "OK\n" : "%d calls have not failed\n", all);
  MPI_Finalize();
  return 0;
}
