// SPDX-License-Identifier: BSD-3-Clause
// A library to be preloaded that delivers wrong broadcasts: the last byte is turned round on all ranks but
// the root.
#include <dlfcn.h>
#include <mpi.h>

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  int (*const next)(void*, int, MPI_Datatype, int, MPI_Comm) =
      (int (*)(void*, int, MPI_Datatype, int, MPI_Comm))dlsym(RTLD_NEXT, "MPI_Bcast");
  const int result = next(buffer, count, type, root, comm);
  int rank, bytes;
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &bytes);
  if (rank != root && count * bytes > 0) ((char*)buffer)[count * bytes - 1] ^= 1;
  return result;
}
