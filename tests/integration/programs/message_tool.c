// SPDX-License-Identifier: BSD-3-Clause
// A profiler as MPI means it, to be preloaded: counts calls of messages and hands them on under their PMPI_
// names. What it does not know of goes past it.
#include <mpi.h>
#include <stdio.h>

static int sent, received, waited, looked;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sent;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++sent;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  ++received;
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waited;
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  ++waited;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  ++looked;
  return PMPI_Probe(from, tag, comm, status);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int has_all = sent > 0 && received > 0 && waited > 0 && looked > 0;
  if (rank == 0) fprintf(stderr, has_all ? "tool: calls of all kinds\n" : "tool: not all\n");
  return PMPI_Finalize();
}
